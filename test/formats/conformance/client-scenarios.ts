import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { richSchema } from './request-scenario.ts'

const userPrompt = 'How cold is it in Oslo?'
const ephemeral = (ttl?: string) => ({ type: 'ephemeral', ...(ttl && { ttl }) })

function buildChatBody(fields: JsonObject): JsonObject {
  return { max_tokens: 4000, messages: [{ role: 'user', content: userPrompt }], ...fields }
}

function buildMessagesBody(fields: JsonObject): JsonObject {
  return { max_tokens: 4000, messages: [{ role: 'user', content: userPrompt }], ...fields }
}

function buildResponsesBody(fields: JsonObject): JsonObject {
  return { max_output_tokens: 4000, input: userPrompt, ...fields }
}

function buildGeminiBody(fields: JsonObject): JsonObject {
  return {
    contents: [{ role: 'user', parts: [{ text: userPrompt }] }],
    generationConfig: { maxOutputTokens: 4000 },
    ...fields,
  }
}

const weatherTool = { name: 'get_weather', description: 'The weather of a city.', parameters: richSchema }

function buildReasoningHistory(...details: JsonObject[]): JsonObject {
  const functionCall = { name: 'get_weather', arguments: '{"city":"Oslo"}' }
  return buildChatBody({
    tools: [{ type: 'function', function: weatherTool }],
    messages: [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        reasoning_details: details.map((entry, index) => ({ ...entry, index })),
        tool_calls: [{ id: 'call_sig', type: 'function', function: functionCall }],
      },
      { role: 'tool', tool_call_id: 'call_sig', content: 'snow' },
    ],
  })
}

const buildCachedContent = (control: JsonObject) => [
  { type: 'text', text: 'A long prefix.', cache_control: control },
  { type: 'text', text: 'Question?' },
]
const buildCachedInput = (control: JsonObject) => [
  { type: 'input_text', text: 'A long prefix.', cache_control: control },
  { type: 'input_text', text: 'Question?' },
]
const reasoningItem = { id: 'rs_68af4030baa48193', format: 'vendor_b-responses-v1' }

/** Bodies with fields that this API accepts and the vendors of the format do not, by scenario. */
export const clientScenarioBodies: Record<GenerateWireFormat, Record<string, JsonObject>> = {
  chat: {
    'PDF by URL': buildChatBody({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'file', file: { file_data: 'https://example.com/ferry.pdf' } },
            { type: 'text', text: 'Sum up.' },
          ],
        },
      ],
    }),
    'Reasoning: budget': buildChatBody({ reasoning: { max_tokens: 2048 } }),
    'Reasoning: hidden': buildChatBody({ reasoning: { effort: 'medium', exclude: true } }),
    'Reasoning: detailed summary': buildChatBody({ reasoning: { effort: 'medium', summary: 'detailed' } }),
    'History with Anthropic thinking': buildReasoningHistory({
      type: 'reasoning.text',
      text: 'Snow, so it is cold.',
      signature: 'ErUBCkYIBBgCKkCsigA+/==',
      format: 'vendor_a-v1',
    }),
    'History with Anthropic redacted thinking': buildReasoningHistory({
      type: 'reasoning.encrypted',
      data: 'EroBCkYIBBgCKkDredA+/==',
      format: 'vendor_a-v1',
    }),
    'History with OpenAI reasoning item': buildReasoningHistory(
      { type: 'reasoning.summary', summary: '**Looking at the sky**', ...reasoningItem },
      { type: 'reasoning.summary', summary: 'It snows.', ...reasoningItem },
      { type: 'reasoning.encrypted', data: 'gAAAAABosigB+/==', ...reasoningItem },
    ),
    'History with Gemini thought signature': buildReasoningHistory({
      type: 'reasoning.encrypted',
      data: 'CiQBcsjafSigC+/==',
      id: 'call_sig',
      format: 'vendor_c-v1',
    }),
    'Cache breakpoint on text': buildChatBody({
      messages: [{ role: 'user', content: buildCachedContent(ephemeral()) }],
    }),
    'Cache breakpoint with a TTL of one hour': buildChatBody({
      messages: [{ role: 'user', content: buildCachedContent(ephemeral('1h')) }],
    }),
    'Cache breakpoint on the system prompt': buildChatBody({
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Rules.', cache_control: ephemeral('5m') }] },
        { role: 'user', content: 'Question?' },
      ],
    }),
    'Cache breakpoint on a tool': buildChatBody({
      tools: [{ type: 'function', function: weatherTool, cache_control: ephemeral() }],
    }),
    'Cache breakpoint on a tool result': buildChatBody({
      tools: [{ type: 'function', function: weatherTool }],
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_c',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_c', content: 'snow', cache_control: ephemeral() },
      ],
    }),
    'Automatic caching': buildChatBody({ cache_control: ephemeral('5m') }),
  },
  messages: {
    'Reasoning: adaptive': buildMessagesBody({ thinking: { type: 'adaptive' } }),
    'Reasoning: hidden': buildMessagesBody({
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'medium' },
    }),
  },
  responses: {
    'Tool in a namespace': buildResponsesBody({
      tools: [{ type: 'namespace', name: 'north', tools: [{ type: 'function', ...weatherTool }] }],
    }),
    'Image output': buildResponsesBody({
      modalities: ['text', 'image'],
      image_config: { aspect_ratio: '16:9' },
    }),
    top_k: buildResponsesBody({ top_k: 40 }),
    min_p: buildResponsesBody({ min_p: 0.05 }),
    top_a: buildResponsesBody({ top_a: 0.2 }),
    frequency_penalty: buildResponsesBody({ frequency_penalty: 0.5 }),
    presence_penalty: buildResponsesBody({ presence_penalty: -0.5 }),
    repetition_penalty: buildResponsesBody({ repetition_penalty: 1.1 }),
    seed: buildResponsesBody({ seed: 42 }),
    stop: buildResponsesBody({ stop: ['END', '\n\nHuman:'] }),
    'Reasoning: budget': buildResponsesBody({ reasoning: { max_tokens: 2048 } }),
    'Reasoning: hidden': buildResponsesBody({ reasoning: { effort: 'medium', exclude: true } }),
    'Cache breakpoint on text': buildResponsesBody({
      input: [{ role: 'user', content: buildCachedInput(ephemeral()) }],
    }),
    'Cache breakpoint with a TTL of one hour': buildResponsesBody({
      input: [{ role: 'user', content: buildCachedInput(ephemeral('1h')) }],
    }),
    'Cache breakpoint on the system prompt': buildResponsesBody({
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'Rules.', cache_control: ephemeral('5m') }] },
        { role: 'user', content: 'Question?' },
      ],
    }),
    'Cache breakpoint on a tool': buildResponsesBody({
      tools: [{ type: 'function', ...weatherTool, cache_control: ephemeral() }],
    }),
    'Automatic caching': buildResponsesBody({ cache_control: ephemeral('5m') }),
  },
  gemini: {
    'Automatic caching': buildGeminiBody({ cache_control: ephemeral('5m') }),
    user: buildGeminiBody({ user: 'user-7' }),
  },
}
