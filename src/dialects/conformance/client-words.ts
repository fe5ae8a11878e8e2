import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { richSchema } from './request-story.ts'

const question = 'How cold is it in Oslo?'
const marked = (ttl?: string) => ({ type: 'ephemeral', ...(ttl && { ttl }) })

function chat(fields: JsonObject): JsonObject {
  return { max_tokens: 4000, messages: [{ role: 'user', content: question }], ...fields }
}

function messages(fields: JsonObject): JsonObject {
  return { max_tokens: 4000, messages: [{ role: 'user', content: question }], ...fields }
}

function responses(fields: JsonObject): JsonObject {
  return { max_output_tokens: 4000, input: question, ...fields }
}

function gemini(fields: JsonObject): JsonObject {
  return {
    contents: [{ role: 'user', parts: [{ text: question }] }],
    generationConfig: { maxOutputTokens: 4000 },
    ...fields,
  }
}

const weather = { name: 'get_weather', description: 'The weather of a city.', parameters: richSchema }

function chatThoughts(...details: JsonObject[]): JsonObject {
  const called = { name: 'get_weather', arguments: '{"city":"Oslo"}' }
  return chat({
    tools: [{ type: 'function', function: weather }],
    messages: [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        reasoning_details: details.map((entry, index) => ({ ...entry, index })),
        tool_calls: [{ id: 'call_sig', type: 'function', function: called }],
      },
      { role: 'tool', tool_call_id: 'call_sig', content: 'snow' },
    ],
  })
}

const prefix = (control: JsonObject) => [
  { type: 'text', text: 'A long prefix.', cache_control: control },
  { type: 'text', text: 'Question?' },
]
const inputPrefix = (control: JsonObject) => [
  { type: 'input_text', text: 'A long prefix.', cache_control: control },
  { type: 'input_text', text: 'Question?' },
]
const rsItem = { id: 'rs_68af4030baa48193', format: 'vendor_b-responses-v1' }

/** What clients of our API may say beyond what vendors of the format understand, by the name of the story. */
export const clientWords: Record<GenerateDialect, Record<string, JsonObject>> = {
  chat: {
    'PDF by URL': chat({
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
    'Reasoning: budget': chat({ reasoning: { max_tokens: 2048 } }),
    'Reasoning: hidden': chat({ reasoning: { effort: 'medium', exclude: true } }),
    'Reasoning: detailed summary': chat({ reasoning: { effort: 'medium', summary: 'detailed' } }),
    'History with Anthropic thinking': chatThoughts({
      type: 'reasoning.text',
      text: 'Snow, so it is cold.',
      signature: 'ErUBCkYIBBgCKkCsigA+/==',
      format: 'vendor_a-v1',
    }),
    'History with Anthropic redacted thinking': chatThoughts({
      type: 'reasoning.encrypted',
      data: 'EroBCkYIBBgCKkDredA+/==',
      format: 'vendor_a-v1',
    }),
    'History with OpenAI reasoning item': chatThoughts(
      { type: 'reasoning.summary', summary: '**Looking at the sky**', ...rsItem },
      { type: 'reasoning.summary', summary: 'It snows.', ...rsItem },
      { type: 'reasoning.encrypted', data: 'gAAAAABosigB+/==', ...rsItem },
    ),
    'History with Gemini thought signature': chatThoughts({
      type: 'reasoning.encrypted',
      data: 'CiQBcsjafSigC+/==',
      id: 'call_sig',
      format: 'vendor_c-v1',
    }),
    'Cache mark on text': chat({ messages: [{ role: 'user', content: prefix(marked()) }] }),
    'Cache mark of one hour': chat({ messages: [{ role: 'user', content: prefix(marked('1h')) }] }),
    'Cache mark on the system prompt': chat({
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Rules.', cache_control: marked('5m') }] },
        { role: 'user', content: 'Question?' },
      ],
    }),
    'Cache mark on a tool': chat({
      tools: [{ type: 'function', function: weather, cache_control: marked() }],
    }),
    'Cache mark on a tool result': chat({
      tools: [{ type: 'function', function: weather }],
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
        { role: 'tool', tool_call_id: 'call_c', content: 'snow', cache_control: marked() },
      ],
    }),
    'Automatic caching': chat({ cache_control: marked('5m') }),
  },
  messages: {
    'Reasoning: as the model likes': messages({ thinking: { type: 'adaptive' } }),
    'Reasoning: hidden': messages({
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'medium' },
    }),
  },
  responses: {
    'Tool in a namespace': responses({
      tools: [{ type: 'namespace', name: 'north', tools: [{ type: 'function', ...weather }] }],
    }),
    'Image output': responses({ modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9' } }),
    top_k: responses({ top_k: 40 }),
    min_p: responses({ min_p: 0.05 }),
    top_a: responses({ top_a: 0.2 }),
    frequency_penalty: responses({ frequency_penalty: 0.5 }),
    presence_penalty: responses({ presence_penalty: -0.5 }),
    repetition_penalty: responses({ repetition_penalty: 1.1 }),
    seed: responses({ seed: 42 }),
    stop: responses({ stop: ['END', '\n\nHuman:'] }),
    'Reasoning: budget': responses({ reasoning: { max_tokens: 2048 } }),
    'Reasoning: hidden': responses({ reasoning: { effort: 'medium', exclude: true } }),
    'Cache mark on text': responses({ input: [{ role: 'user', content: inputPrefix(marked()) }] }),
    'Cache mark of one hour': responses({ input: [{ role: 'user', content: inputPrefix(marked('1h')) }] }),
    'Cache mark on the system prompt': responses({
      input: [
        { role: 'system', content: [{ type: 'input_text', text: 'Rules.', cache_control: marked('5m') }] },
        { role: 'user', content: 'Question?' },
      ],
    }),
    'Cache mark on a tool': responses({ tools: [{ type: 'function', ...weather, cache_control: marked() }] }),
    'Automatic caching': responses({ cache_control: marked('5m') }),
  },
  gemini: {
    'Automatic caching': gemini({ cache_control: marked('5m') }),
    user: gemini({ user: 'user-7' }),
  },
}
