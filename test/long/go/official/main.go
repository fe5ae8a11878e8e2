// Command official uses github.com/openai/openai-go as its documentation does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"headgate.test/clients/lab"
)

var ctx = context.Background()

func connect(key string) openai.Client {
	return openai.NewClient(
		option.WithAPIKey(key), option.WithBaseURL(lab.URL+"/v1"), option.WithMaxRetries(0),
	)
}

func params() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    lab.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(lab.Question)},
	}
}

func chat(client openai.Client) {
	completion, err := client.Chat.Completions.New(ctx, params())
	lab.Must(err)
	lab.Expect(completion.Choices[0].Message.Content, lab.Reply)
	lab.Expect(completion.Usage.TotalTokens, int64(128))
}

func chatStreamed(client openai.Client) {
	stream := client.Chat.Completions.NewStreaming(ctx, params())
	var text strings.Builder
	for stream.Next() {
		evt := stream.Current()
		text.WriteString(evt.Choices[0].Delta.Content)
	}
	lab.Must(stream.Err())
	lab.Expect(text.String(), lab.Reply)
}

func chatAccumulated(client openai.Client) {
	given := params()
	given.Tools = tools()
	stream := client.Chat.Completions.NewStreaming(ctx, given)
	acc := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	lab.Must(stream.Err())
	lab.Expect(citiesOf(acc.Choices[0].Message.ToolCalls), lab.Cities)
}

func tools() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name:        "get_weather",
			Description: openai.String("The weather in a city"),
			Parameters:  openai.FunctionParameters(lab.WeatherSchema),
		}),
	}
}

func citiesOf(calls []openai.ChatCompletionMessageToolCallUnion) []string {
	var cities []string
	for _, call := range calls {
		cities = append(cities, cityOf(call.Function.Arguments))
	}
	return cities
}

func cityOf(text string) string {
	var args lab.Arguments
	lab.Must(json.Unmarshal([]byte(text), &args))
	return args.City
}

func chatTools(client openai.Client) {
	given := params()
	given.Tools = tools()
	completion, err := client.Chat.Completions.New(ctx, given)
	lab.Must(err)
	toolCalls := completion.Choices[0].Message.ToolCalls
	lab.Expect(citiesOf(toolCalls), lab.Cities)
	given.Messages = append(given.Messages, completion.Choices[0].Message.ToParam())
	for _, toolCall := range toolCalls {
		result := lab.Weather(cityOf(toolCall.Function.Arguments))
		given.Messages = append(given.Messages, openai.ToolMessage(result, toolCall.ID))
	}
	completion, err = client.Chat.Completions.New(ctx, given)
	lab.Must(err)
	lab.Expect(completion.Choices[0].Message.Content, lab.Reply)
}

func respond(client openai.Client) {
	given := responses.ResponseNewParams{
		Model: lab.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(lab.Question)},
	}
	response, err := client.Responses.New(ctx, given)
	lab.Must(err)
	lab.Expect(response.OutputText(), lab.Reply)
	stream := client.Responses.NewStreaming(ctx, given)
	var text strings.Builder
	for stream.Next() {
		event := stream.Current()
		text.WriteString(event.Delta)
	}
	lab.Must(stream.Err())
	lab.Expect(text.String(), lab.Reply)
}

func models(client openai.Client) {
	iter := client.Models.ListAutoPaging(ctx)
	var names []string
	for iter.Next() {
		names = append(names, iter.Current().ID)
	}
	lab.Must(iter.Err())
	lab.Expect(slices.Contains(names, lab.Model), true)
	model, err := client.Models.Get(ctx, lab.Model)
	lab.Must(err)
	lab.Expect(model.ID, lab.Model)
}

func files(client openai.Client) {
	made, err := client.Files.New(ctx, openai.FileNewParams{
		File:    openai.File(strings.NewReader("The secret word is heron."), "notes.txt", "text/plain"),
		Purpose: openai.FilePurposeUserData,
	})
	lab.Must(err)
	lab.Expect(made.Bytes, int64(25))
	lab.Expect(slices.Contains(fileIDs(client), made.ID), true)
	deleted, err := client.Files.Delete(ctx, made.ID)
	lab.Must(err)
	lab.Expect(deleted.Deleted, true)
	lab.Expect(slices.Contains(fileIDs(client), made.ID), false)
}

func fileIDs(client openai.Client) []string {
	iter := client.Files.ListAutoPaging(ctx, openai.FileListParams{})
	var ids []string
	for iter.Next() {
		ids = append(ids, iter.Current().ID)
	}
	lab.Must(iter.Err())
	return ids
}

func refusals() {
	for key, status := range map[string]int{lab.WrongKey: 401, lab.PoorKey: 402} {
		client := connect(key)
		_, err := client.Chat.Completions.New(ctx, params())
		expectStatus(err, status)
		stream := client.Chat.Completions.NewStreaming(ctx, params())
		lab.Expect(stream.Next(), false)
		expectStatus(stream.Err(), status)
	}
}

func expectStatus(err error, status int) {
	var apierr *openai.Error
	lab.Expect(errors.As(err, &apierr), true)
	lab.Expect(apierr.StatusCode, status)
	lab.Expect(apierr.Message != "", true)
}

func main() {
	client := connect(lab.Key)
	chat(client)
	chatStreamed(client)
	chatAccumulated(client)
	chatTools(client)
	respond(client)
	models(client)
	files(client)
	refusals()
}
