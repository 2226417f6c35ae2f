// SPDX-License-Identifier: GPL-2.0-only
// As store.c, in Go: of four syncs, saveRows makes three and saveIndex one. Arguments: FILE ROUNDS.
package main

import (
	"os"
	"strconv"
)

//go:noinline
func saveRows(f *os.File) {
	for i := 0; i < 3; i++ {
		f.Sync()
	}
}

//go:noinline
func saveIndex(f *os.File) {
	f.Sync()
}

func down(n int, f *os.File, save func(*os.File)) {
	if n > 0 {
		down(n-1, f, save)
		return
	}
	save(f)
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	for i := 0; i < rounds; i++ {
		down(8, f, saveRows)
		down(8, f, saveIndex)
	}
}
