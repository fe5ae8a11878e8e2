// Package lab reads the settings that test/long/clients.test.ts passes in the environment.
package lab

import (
	"fmt"
	"os"
	"reflect"
)

var (
	URL = os.Getenv("HEADGATE_URL")
	Key = os.Getenv("HEADGATE_KEY")
	// PoorKey is of an account without credits.
	PoorKey  = os.Getenv("HEADGATE_POOR_KEY")
	WrongKey = "sk-hg-v1-wrong"
	Model    = os.Getenv("HEADGATE_MODEL")
	// Reply is the reply of the model without a tool call.
	Reply = os.Getenv("HEADGATE_REPLY")

	Question = "What is the weather in Oslo and in Kyoto?"
	Cities   = []string{"Oslo", "京都"}
)

// Arguments are those of the tool get_weather.
type Arguments struct {
	City string `json:"city"`
}

// WeatherSchema describes Arguments.
var WeatherSchema = map[string]any{
	"type":       "object",
	"properties": map[string]any{"city": map[string]any{"type": "string"}},
	"required":   []string{"city"},
}

// Weather is the result of the tool.
func Weather(city string) string {
	return fmt.Sprintf("It is snowing in %s.", city)
}

// Must ends the program at an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Expect ends the program when two values differ.
func Expect(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("%#v is not %#v", actual, expected))
	}
}
