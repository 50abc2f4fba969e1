package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river/rivertype"
)

func TestRetries(t *testing.T) {
	t.Run("F17 attempts follow each other quickly at first, and then no more than once a minute", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			next := (&Outbox{}).config(nil).RetryPolicy
			for failed, wanted := range map[int]time.Duration{
				0: 100 * time.Millisecond, 1: 100 * time.Millisecond, 2: time.Second, 3: 5 * time.Second,
				6: time.Minute, 7: time.Minute, 100: time.Minute,
			} {
				if got := time.Until(next.NextRetry(&rivertype.JobRow{Attempt: failed})); got != wanted {
					t.Errorf("after attempt %d it waits %v, want %v", failed, got, wanted)
				}
			}
		})
	})
	t.Run("F43 nothing that was discarded is deleted", func(t *testing.T) {
		if d := (&Outbox{}).config(nil).DiscardedJobRetentionPeriod; d != -1 {
			t.Errorf("it is deleted after %v", d)
		}
	})
}
