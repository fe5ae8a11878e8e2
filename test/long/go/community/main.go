// Command community uses github.com/sashabaranov/go-openai as its documentation does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"headgate.test/clients/lab"
)

var ctx = context.Background()

func connect(key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = lab.URL + "/v1"
	return openai.NewClientWithConfig(config)
}

func request() openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    lab.Model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: lab.Question}},
	}
}

func chat(client *openai.Client) {
	resp, err := client.CreateChatCompletion(ctx, request())
	lab.Must(err)
	lab.Expect(resp.Choices[0].Message.Content, lab.Reply)
	lab.Expect(resp.Usage.TotalTokens, 128)
}

func chatStreamed(client *openai.Client) {
	stream, err := client.CreateChatCompletionStream(ctx, request())
	lab.Must(err)
	defer stream.Close()
	var text strings.Builder
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		lab.Must(err)
		text.WriteString(response.Choices[0].Delta.Content)
	}
	lab.Expect(text.String(), lab.Reply)
}

func chatTools(client *openai.Client) {
	given := request()
	given.Tools = []openai.Tool{{
		Type: openai.ToolTypeFunction,
		Function: &openai.FunctionDefinition{
			Name:        "get_weather",
			Description: "The weather in a city",
			Parameters:  lab.WeatherSchema,
		},
	}}
	resp, err := client.CreateChatCompletion(ctx, given)
	lab.Must(err)
	msg := resp.Choices[0].Message
	given.Messages = append(given.Messages, msg)
	var cities []string
	for _, call := range msg.ToolCalls {
		var args lab.Arguments
		lab.Must(json.Unmarshal([]byte(call.Function.Arguments), &args))
		cities = append(cities, args.City)
		given.Messages = append(given.Messages, openai.ChatCompletionMessage{
			Role:       openai.ChatMessageRoleTool,
			Content:    lab.Weather(args.City),
			Name:       call.Function.Name,
			ToolCallID: call.ID,
		})
	}
	lab.Expect(cities, lab.Cities)
	resp, err = client.CreateChatCompletion(ctx, given)
	lab.Must(err)
	lab.Expect(resp.Choices[0].Message.Content, lab.Reply)
}

func respond(client *openai.Client) {
	stream, err := client.CreateResponseStream(ctx, openai.CreateResponseRequest{
		Model: lab.Model,
		Input: lab.Question,
	})
	lab.Must(err)
	defer stream.Close()
	var text strings.Builder
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		lab.Must(err)
		if event.Type == openai.ResponseStreamEventOutputTextDelta {
			text.WriteString(event.Delta)
		}
	}
	lab.Expect(text.String(), lab.Reply)
}

func models(client *openai.Client) {
	list, err := client.ListModels(ctx)
	lab.Must(err)
	found := false
	for _, model := range list.Models {
		found = found || model.ID == lab.Model
	}
	lab.Expect(found, true)
	model, err := client.GetModel(ctx, lab.Model)
	lab.Must(err)
	lab.Expect(model.ID, lab.Model)
}

func files(client *openai.Client) {
	made, err := client.CreateFileBytes(ctx, openai.FileBytesRequest{
		Name:    "notes.txt",
		Bytes:   []byte("The secret word is heron."),
		Purpose: openai.PurposeAssistants,
	})
	lab.Must(err)
	lab.Expect(made.Bytes, 25)
	lab.Expect(hasFile(client, made.ID), true)
	lab.Must(client.DeleteFile(ctx, made.ID))
	lab.Expect(hasFile(client, made.ID), false)
}

func hasFile(client *openai.Client, id string) bool {
	list, err := client.ListFiles(ctx)
	lab.Must(err)
	for _, file := range list.Files {
		if file.ID == id {
			return true
		}
	}
	return false
}

func refusals() {
	for key, status := range map[string]int{lab.WrongKey: 401, lab.PoorKey: 402} {
		client := connect(key)
		_, err := client.CreateChatCompletion(ctx, request())
		expectStatus(err, status)
		_, err = client.CreateChatCompletionStream(ctx, request())
		expectStatus(err, status)
	}
}

func expectStatus(err error, status int) {
	var apiError *openai.APIError
	lab.Expect(errors.As(err, &apiError), true)
	lab.Expect(apiError.HTTPStatusCode, status)
	lab.Expect(apiError.Message != "", true)
}

func main() {
	client := connect(lab.Key)
	chat(client)
	chatStreamed(client)
	chatTools(client)
	respond(client)
	models(client)
	files(client)
	refusals()
}
