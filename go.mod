module github.com/paceline/paceline

go 1.26.0
