package store

import "fmt"

// TroubleKind is what is wrong with a store.
type TroubleKind uint8

const (
	Unusable   TroubleKind = iota // none of the below: the error says what
	Newer                         // written by a newer program
	Full                          // no space is left
	Locked                        // another program holds it
	Corrupt                       // damaged, or not a database at all
	Remote                        // on a network file system
	Unwritable                    // its folder or file may not be written
	NotAFile                      // a folder, a device, a socket
	Lost                          // the database does not answer
	Refused                       // it does, and does not let us in
	Unsure                        // it does not know whether it committed
)

var troubleNames = []string{
	"cannot be used", "was written by a newer paceline", "has no space left", "is locked by another program",
	"is damaged, or not a database", "is on a network file system", "cannot be written", "is not a file",
	"does not answer", "does not let us in", "lost a transaction on its way",
}

func (k TroubleKind) String() string {
	if int(k) < len(troubleNames) {
		return troubleNames[k]
	}
	return troubleNames[Unusable]
}

// Trouble is what people have to be told about a store. The rows are as they
// were, and the store may be tried again once the cause is gone.
type Trouble struct {
	Kind TroubleKind
	Path string
	Err  error
	Hint string // what to try; "" where there is nothing
}

func (t *Trouble) Error() string {
	if t.Err == nil {
		return fmt.Sprintf("the store %s %s", t.Path, t.Kind)
	}
	return fmt.Sprintf("the store %s %s: %v", t.Path, t.Kind, t.Err)
}

func (t *Trouble) Unwrap() error { return t.Err }
