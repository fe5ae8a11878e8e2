import type { GenerateDialect } from '../../catalog/vocabulary.ts'
import type { JsonObject } from '../../lib/loose.ts'
import {
  cache,
  envelope,
  type FieldTable,
  reasoning,
  schema,
  steering,
  unserved,
  value,
} from './field-sample.ts'
import { gemini } from './field-samples-gemini.ts'

const lookUp = { name: 'look_up', description: 'Looks up', parameters: schema, strict: true }
const chatTool = { tools: [{ type: 'function', function: lookUp }] }
const chatFormat = (format: object) => ({ response_format: format })
const named = { name: 'answer', description: 'The answer', schema, strict: true }
const chatMessage = (fields: object) => ({ messages: [{ role: 'user', content: 'Hello', ...fields }] })

const chat: FieldTable = {
  least: chatMessage({}),
  ours: [
    ...steering,
    'reasoning.exclude',
    'include_reasoning',
    'stream_options',
    'prompt',
    'tools.parameters',
  ],
  samples: {
    ...unserved,
    ...envelope,
    ...cache,
    ...reasoning,
    store: { used: { store: true } },
    transforms: { used: { transforms: ['middle-out'] } },
    ...value('temperature', 0.5),
    ...value('top_p', 0.5),
    ...value('top_k', 5),
    ...value('min_p', 0.1),
    ...value('top_a', 0.1),
    ...value('frequency_penalty', 0.5),
    ...value('presence_penalty', 0.5),
    ...value('repetition_penalty', 1.5),
    ...value('seed', 7),
    ...value('logit_bias', { '1': 2 }),
    ...value('logprobs', true),
    top_logprobs: { used: { logprobs: true, top_logprobs: 3 }, unused: { logprobs: true } },
    ...value('max_tokens', 77),
    ...value('max_completion_tokens', 77),
    ...value('stop', ['x']),
    ...value('n', 2),
    ...value('audio', { voice: 'ash', format: 'mp3' }),
    ...value('user', 'u-1'),
    ...value('metadata', { a: 'b' }),
    ...value('prediction', { type: 'content', content: 'x' }),
    ...value('verbosity', 'low'),
    ...value('service_tier', 'flex'),
    ...value('reasoning_effort', 'low'),
    messages: { used: chatMessage({ content: 'Goodbye' }) },
    'messages.role': { used: chatMessage({ role: 'assistant' }) },
    'messages.content': { used: chatMessage({ content: 'Goodbye' }) },
    'messages.content.type': {
      used: chatMessage({ content: [{ type: 'image_url', image_url: { url: 'https://a.example/i.png' } }] }),
    },
    'messages.content.text': { used: chatMessage({ content: [{ type: 'text', text: 'Goodbye' }] }) },
    tools: { used: chatTool },
    'tools.type': { used: { tools: [{ type: 'custom', custom: { name: 'look_up' } }] } },
    'tools.function': { used: chatTool },
    'tools.function.name': { used: chatTool },
    'tools.function.description': { used: chatTool, unused: chatWithout('description') },
    'tools.function.parameters': { used: chatTool, unused: chatWithout('parameters') },
    'tools.function.strict': { used: chatTool, unused: chatWithout('strict') },
    functions: { used: { functions: [lookUp] } },
    function_call: {
      used: { functions: [lookUp], function_call: { name: 'look_up' } },
      unused: { functions: [lookUp] },
    },
    tool_choice: { used: { ...chatTool, tool_choice: 'required' }, unused: chatTool },
    'tool_choice.type': {
      used: { ...chatTool, tool_choice: { type: 'function', function: { name: 'look_up' } } },
      unused: chatTool,
    },
    parallel_tool_calls: { used: { ...chatTool, parallel_tool_calls: false }, unused: chatTool },
    response_format: { used: chatFormat({ type: 'json_object' }) },
    'response_format.type': { used: chatFormat({ type: 'regex' }) },
    'response_format.schema': { used: chatFormat({ type: 'json_schema', schema }) },
    'response_format.json_schema': { used: chatFormat({ type: 'json_schema', json_schema: named }) },
    'response_format.json_schema.schema': {
      used: chatFormat({ type: 'json_schema', json_schema: { schema } }),
    },
    // A label where a schema is always enforced.
    'response_format.json_schema.name': { used: chatFormat({ type: 'json_schema', json_schema: named }) },
  },
}

function chatWithout(field: keyof typeof lookUp): JsonObject {
  const { [field]: _left, ...rest } = lookUp
  return { tools: [{ type: 'function', function: rest }] }
}

const adaptive = { thinking: { type: 'adaptive' } }
const messagesTool = { name: 'look_up', description: 'Looks up', input_schema: schema }
const withTool = (fields: object) => ({ tools: [{ ...messagesTool, ...fields }] })
const messagesTalk = (fields: object) => ({
  max_tokens: 4000,
  messages: [{ role: 'user', content: 'Hello', ...fields }],
})
const edits = { context_management: { edits: [{ type: 'compact_20260112' }] } }

const messages: FieldTable = {
  least: messagesTalk({}),
  ours: [...steering, 'tools.parameters', 'tools.type'],
  samples: {
    ...unserved,
    ...cache,
    messages: { used: messagesTalk({ content: 'Goodbye' }) },
    'messages.role': { used: messagesTalk({ role: 'assistant' }) },
    'messages.content': { used: messagesTalk({ content: 'Goodbye' }) },
    'messages.content.type': {
      used: messagesTalk({
        content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/i' } }],
      }),
    },
    system: { used: { system: 'Be brief.' } },
    'system.type': { used: { system: [{ type: 'text', text: 'Be brief.' }] } },
    'system.text': { used: { system: [{ type: 'text', text: 'Be brief.' }] } },
    ...value('max_tokens', 77),
    ...value('temperature', 0.5),
    ...value('top_p', 0.5),
    ...value('top_k', 5),
    ...value('stop_sequences', ['x']),
    metadata: { used: { metadata: { user_id: 'u-1' } } },
    'metadata.user_id': { used: { metadata: { user_id: 'u-1' } } },
    ...value('service_tier', 'flex'),
    ...value('speed', 'fast'),
    ...value('user', 'u-1'),
    thinking: { used: adaptive },
    'thinking.type': { used: { thinking: { type: 'guided' } } },
    'thinking.budget_tokens': { used: { thinking: { type: 'enabled', budget_tokens: 2000 } } },
    tool_choice: { used: { ...withTool({}), tool_choice: { type: 'any' } }, unused: withTool({}) },
    'tool_choice.type': { used: { ...withTool({}), tool_choice: { type: 'any' } }, unused: withTool({}) },
    'tool_choice.name': {
      used: { ...withTool({}), tool_choice: { type: 'tool', name: 'look_up' } },
      unused: withTool({}),
    },
    'tool_choice.disable_parallel_tool_use': {
      used: { ...withTool({}), tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      unused: { ...withTool({}), tool_choice: { type: 'auto' } },
    },
    tools: { used: withTool({}) },
    'tools.name': { used: withTool({}) },
    'tools.description': { used: withTool({}), unused: withTool({ description: undefined }) },
    'tools.input_schema': { used: withTool({}), unused: withTool({ input_schema: {} }) },
    'tools.input_schema.type': { used: withTool({}), unused: withTool({ input_schema: {} }) },
    'tools.input_schema.properties': { used: withTool({}), unused: withTool({ input_schema: {} }) },
    'tools.input_schema.required': { used: withTool({}), unused: withTool({ input_schema: {} }) },
    'tools.defer_loading': { used: withTool({ defer_loading: true }), unused: withTool({}) },
    'tools.cache_control': {
      used: withTool({ cache_control: { type: 'ephemeral' } }),
      unused: withTool({}),
    },
    'tools.cache_control.type': {
      used: withTool({ cache_control: { type: 'ephemeral' } }),
      unused: withTool({}),
    },
    'tools.cache_control.ttl': {
      used: withTool({ cache_control: { type: 'ephemeral', ttl: '24h' } }),
      unused: withTool({ cache_control: { type: 'ephemeral' } }),
    },
    context_management: { used: edits },
    'context_management.edits': { used: edits },
    'context_management.edits.type': { used: edits },
    output_config: { used: { output_config: { effort: 'low' } } },
    'output_config.effort': { used: { output_config: { effort: 'low' } } },
    'output_config.format': { used: { output_config: { format: { type: 'json_schema', schema } } } },
    'output_config.format.type': { used: { output_config: { format: { type: 'regex' } } } },
    'output_config.format.schema': {
      used: { output_config: { format: { type: 'json_schema', schema } } },
    },
  },
}

const responsesTool = { tools: [{ type: 'function', ...lookUp }] }

const responses: FieldTable = {
  least: { input: 'Hello' },
  ours: [
    ...steering,
    ...[
      'reasoning.exclude',
      'store',
      'previous_response_id',
      'conversation',
      'background',
      'tools.parameters',
    ],
  ],
  samples: {
    ...unserved,
    ...envelope,
    ...cache,
    ...reasoning,
    ...value('input', 'Goodbye'),
    ...value('instructions', 'Be brief.'),
    ...value('max_output_tokens', 77),
    ...value('temperature', 0.5),
    ...value('top_p', 0.5),
    ...value('top_k', 5),
    ...value('frequency_penalty', 0.5),
    ...value('presence_penalty', 0.5),
    ...value('top_logprobs', 3),
    text: { used: { text: { verbosity: 'low' } } },
    'text.verbosity': { used: { text: { verbosity: 'low' } } },
    'text.format': { used: { text: { format: { type: 'json_object' } } } },
    'text.format.type': { used: { text: { format: { type: 'grammar' } } } },
    tools: { used: responsesTool },
    'tools.type': { used: { tools: [{ type: 'web_search' }] } },
    'tools.name': { used: responsesTool },
    tool_choice: { used: { ...responsesTool, tool_choice: 'required' }, unused: responsesTool },
    'tool_choice.type': {
      used: { ...responsesTool, tool_choice: { type: 'function', name: 'look_up' } },
      unused: responsesTool,
    },
    parallel_tool_calls: { used: { ...responsesTool, parallel_tool_calls: false }, unused: responsesTool },
    ...value('service_tier', 'flex'),
    ...value('include', ['file_search_call.results']),
    ...value('truncation', 'auto'),
    ...value('metadata', { a: 'b' }),
    ...value('user', 'u-1'),
    prompt: { used: { prompt: { id: 'p' } } },
    'prompt.id': { used: { prompt: { id: 'p' } } },
    ...value('safety_identifier', 'u-1'),
    // Not in the schema, which leaves items alone.
    'input.phase': {
      used: { input: [{ type: 'message', role: 'assistant', content: 'Hm.', phase: 'commentary' }] },
      unused: { input: [{ type: 'message', role: 'assistant', content: 'Hm.' }] },
    },
    client_metadata: { used: { client_metadata: { a: 'b' } } },
  },
}

/** One sample for each field that the schemas of the four formats know. */
export const fieldTables: Record<GenerateDialect, FieldTable> = { chat, messages, responses, gemini }
