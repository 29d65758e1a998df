// Command linearizable reads a history of calls from its standard input, and says for which keys no order of the calls
// explains the answers. The model is that of one object: create, write of any version or of one version, delete of one
// version, get. A list counts as a get of each of its keys.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// call is one call of a client. Times are in nanoseconds of one monotonic clock; an end of 0 means that nobody knows
// when the call took effect, only that it did.
type call struct {
	Client int    `json:"client"`
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Begin  int64  `json:"begin"`
	End    int64  `json:"end"`
	// Outcome is "done", "absent" (404), "present" (the name is taken) or "conflict" (another version).
	Outcome string `json:"outcome"`
	// Expected is the version that an update or a deletion names.
	Expected int64 `json:"expected"`
	// Version is the version that the answer shows; 0 means that there was no object.
	Version int64 `json:"version"`
	// Items are the versions of a list by key. Keys which the list does not have are absent.
	Items map[string]int64 `json:"items"`
}

type history struct {
	Keys  []string `json:"keys"`
	Calls []call   `json:"calls"`
}

// step says whether the answer of a call is right if the object has this version before, and returns the version after.
func step(before int64, c call) (bool, int64) {
	exists := before != 0
	switch c.Outcome {
	case "absent":
		return !exists, before
	case "present":
		return exists, before
	case "conflict":
		return exists && before != c.Expected, before
	}
	switch c.Kind {
	case "get":
		return before == c.Version, before
	case "create":
		return !exists, c.Version
	case "update":
		return exists && before == c.Expected, c.Version
	case "patch":
		return exists, c.Version
	case "apply":
		return true, c.Version
	case "delete":
		return exists && before == c.Expected, 0
	}
	panic("unknown kind " + c.Kind)
}

var model = porcupine.Model{
	Init:  func() interface{} { return int64(0) },
	Step:  func(state, input, output interface{}) (bool, interface{}) { return step(state.(int64), input.(call)) },
	Equal: func(a, b interface{}) bool { return a.(int64) == b.(int64) },
	DescribeOperation: func(input, output interface{}) string {
		c := input.(call)
		return fmt.Sprintf("%s %s %d -> %s %d", c.Kind, c.Key, c.Expected, c.Outcome, c.Version)
	},
}

// byKey divides the history. Keys are independent of each other, so each is checked by itself.
func byKey(h history) map[string][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	add := func(c call) {
		end := c.End
		if end == 0 {
			end = math.MaxInt64
		}
		op := porcupine.Operation{ClientId: c.Client, Input: c, Call: c.Begin, Return: end}
		parts[c.Key] = append(parts[c.Key], op)
	}
	for _, c := range h.Calls {
		if c.Kind != "list" {
			add(c)
			continue
		}
		for _, key := range h.Keys {
			one := c
			one.Kind, one.Key, one.Version, one.Items = "get", key, c.Items[key], nil
			add(one)
		}
	}
	return parts
}

// withoutImplied leaves out calls that change nothing and are explained by another one with the same answer: if that one
// is right at some moment between its begin and its end, then so is one that began no later and ended no earlier. Lists make
// many of them, each of which would multiply the orders to try.
func withoutImplied(operations []porcupine.Operation) []porcupine.Operation {
	type answer struct {
		outcome           string
		version, expected int64
	}
	var kept []porcupine.Operation
	alike := map[answer][]porcupine.Operation{}
	for _, op := range operations {
		c := op.Input.(call)
		switch {
		case c.Outcome == "done" && c.Kind == "get" && c.Version == 0, c.Outcome == "absent":
			alike[answer{outcome: "absent"}] = append(alike[answer{outcome: "absent"}], op)
		case c.Outcome == "done" && c.Kind == "get":
			key := answer{outcome: "get", version: c.Version}
			alike[key] = append(alike[key], op)
		case c.Outcome == "present" || c.Outcome == "conflict":
			key := answer{outcome: c.Outcome, expected: c.Expected}
			alike[key] = append(alike[key], op)
		default:
			kept = append(kept, op)
		}
	}
	for _, same := range alike {
		// Those that begin last come first; of those that begin together, those that end first.
		sort.Slice(same, func(i, j int) bool {
			if same[i].Call != same[j].Call {
				return same[i].Call > same[j].Call
			}
			return same[i].Return < same[j].Return
		})
		earliest := int64(math.MaxInt64)
		for at, op := range same {
			if at > 0 && op.Return >= earliest {
				continue
			}
			earliest = op.Return
			kept = append(kept, op)
		}
	}
	return kept
}

func main() {
	var h history
	if err := json.NewDecoder(os.Stdin).Decode(&h); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	result := struct {
		Wrong   []string `json:"wrong"`
		Unknown []string `json:"unknown"`
		Calls   int      `json:"calls"`
	}{[]string{}, []string{}, 0}
	for key, operations := range byKey(h) {
		result.Calls += len(operations)
		switch porcupine.CheckOperationsTimeout(model, withoutImplied(operations), 5*time.Minute) {
		case porcupine.Illegal:
			result.Wrong = append(result.Wrong, key)
		case porcupine.Unknown:
			result.Unknown = append(result.Unknown, key)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(2)
	}
}
