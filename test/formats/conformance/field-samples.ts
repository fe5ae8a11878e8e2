import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import {
  cacheSamples,
  commonSamples,
  createSample,
  type FieldTable,
  pipelineFields,
  reasoningSamples,
  schema,
  unimplementedSamples,
} from './field-sample.ts'
import { geminiFields } from './field-samples-gemini.ts'

const lookUpFunction = { name: 'look_up', description: 'Looks up', parameters: schema, strict: true }
const chatTool = { tools: [{ type: 'function', function: lookUpFunction }] }
const chatFormat = (format: object) => ({ response_format: format })
const namedSchema = { name: 'answer', description: 'Output', schema, strict: true }
const chatMessage = (fields: object) => ({ messages: [{ role: 'user', content: 'Hello', ...fields }] })

const chatFields: FieldTable = {
  minimalBody: chatMessage({}),
  gatewayFields: [
    ...pipelineFields,
    'reasoning.exclude',
    'include_reasoning',
    'stream_options',
    'prompt',
    'tools.parameters',
  ],
  samples: {
    ...unimplementedSamples,
    ...commonSamples,
    ...cacheSamples,
    ...reasoningSamples,
    store: { used: { store: true } },
    ...createSample('temperature', 0.5),
    ...createSample('top_p', 0.5),
    ...createSample('top_k', 5),
    ...createSample('min_p', 0.1),
    ...createSample('top_a', 0.1),
    ...createSample('frequency_penalty', 0.5),
    ...createSample('presence_penalty', 0.5),
    ...createSample('repetition_penalty', 1.5),
    ...createSample('seed', 7),
    ...createSample('logit_bias', { '1': 2 }),
    ...createSample('logprobs', true),
    top_logprobs: { used: { logprobs: true, top_logprobs: 3 }, unused: { logprobs: true } },
    ...createSample('max_tokens', 77),
    ...createSample('max_completion_tokens', 77),
    ...createSample('stop', ['x']),
    ...createSample('n', 2),
    ...createSample('audio', { voice: 'ash', format: 'mp3' }),
    ...createSample('user', 'u-1'),
    ...createSample('metadata', { a: 'b' }),
    ...createSample('prediction', { type: 'content', content: 'x' }),
    ...createSample('verbosity', 'low'),
    ...createSample('service_tier', 'flex'),
    ...createSample('reasoning_effort', 'low'),
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
    'tools.function.description': { used: chatTool, unused: chatToolWithout('description') },
    'tools.function.parameters': { used: chatTool, unused: chatToolWithout('parameters') },
    'tools.function.strict': { used: chatTool, unused: chatToolWithout('strict') },
    functions: { used: { functions: [lookUpFunction] } },
    function_call: {
      used: { functions: [lookUpFunction], function_call: { name: 'look_up' } },
      unused: { functions: [lookUpFunction] },
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
    'response_format.json_schema': { used: chatFormat({ type: 'json_schema', json_schema: namedSchema }) },
    'response_format.json_schema.schema': {
      used: chatFormat({ type: 'json_schema', json_schema: { schema } }),
    },
    // Only a label in formats that always enforce the schema.
    'response_format.json_schema.name': {
      used: chatFormat({ type: 'json_schema', json_schema: namedSchema }),
    },
  },
}

function chatToolWithout(field: keyof typeof lookUpFunction): JsonObject {
  const { [field]: _left, ...rest } = lookUpFunction
  return { tools: [{ type: 'function', function: rest }] }
}

const adaptive = { thinking: { type: 'adaptive' } }
const messagesTool = { name: 'look_up', description: 'Looks up', input_schema: schema }
const withTool = (fields: object) => ({ tools: [{ ...messagesTool, ...fields }] })
const messagesBody = (fields: object) => ({
  max_tokens: 4000,
  messages: [{ role: 'user', content: 'Hello', ...fields }],
})
const edits = { context_management: { edits: [{ type: 'compact_20260112' }] } }

const messagesFields: FieldTable = {
  minimalBody: messagesBody({}),
  gatewayFields: [...pipelineFields, 'tools.parameters', 'tools.type'],
  samples: {
    ...unimplementedSamples,
    ...cacheSamples,
    messages: { used: messagesBody({ content: 'Goodbye' }) },
    'messages.role': { used: messagesBody({ role: 'assistant' }) },
    'messages.content': { used: messagesBody({ content: 'Goodbye' }) },
    'messages.content.type': {
      used: messagesBody({
        content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/i' } }],
      }),
    },
    system: { used: { system: 'Be brief.' } },
    'system.type': { used: { system: [{ type: 'text', text: 'Be brief.' }] } },
    'system.text': { used: { system: [{ type: 'text', text: 'Be brief.' }] } },
    ...createSample('max_tokens', 77),
    ...createSample('temperature', 0.5),
    ...createSample('top_p', 0.5),
    ...createSample('top_k', 5),
    ...createSample('stop_sequences', ['x']),
    metadata: { used: { metadata: { user_id: 'u-1' } } },
    'metadata.user_id': { used: { metadata: { user_id: 'u-1' } } },
    ...createSample('service_tier', 'flex'),
    ...createSample('speed', 'fast'),
    ...createSample('user', 'u-1'),
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
    mcp_servers: {
      used: { mcp_servers: [{ type: 'url', name: 'notes', url: 'https://notes.example/mcp' }] },
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

const responsesTool = { tools: [{ type: 'function', ...lookUpFunction }] }

const responsesFields: FieldTable = {
  minimalBody: { input: 'Hello' },
  gatewayFields: [
    ...pipelineFields,
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
    ...unimplementedSamples,
    ...commonSamples,
    ...cacheSamples,
    ...reasoningSamples,
    ...createSample('input', 'Goodbye'),
    ...createSample('instructions', 'Be brief.'),
    ...createSample('max_output_tokens', 77),
    ...createSample('temperature', 0.5),
    ...createSample('top_p', 0.5),
    ...createSample('top_k', 5),
    ...createSample('frequency_penalty', 0.5),
    ...createSample('presence_penalty', 0.5),
    ...createSample('top_logprobs', 3),
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
    ...createSample('service_tier', 'flex'),
    ...createSample('include', ['file_search_call.results']),
    ...createSample('truncation', 'auto'),
    ...createSample('metadata', { a: 'b' }),
    ...createSample('user', 'u-1'),
    prompt: { used: { prompt: { id: 'p' } } },
    'prompt.id': { used: { prompt: { id: 'p' } } },
    ...createSample('safety_identifier', 'u-1'),
    // Not in the schema, which does not validate items.
    'input.phase': {
      used: { input: [{ type: 'message', role: 'assistant', content: 'Hm.', phase: 'commentary' }] },
      unused: { input: [{ type: 'message', role: 'assistant', content: 'Hm.' }] },
    },
    client_metadata: { used: { client_metadata: { a: 'b' } } },
  },
}

/** One sample for every field in the schemas of the four formats. */
export const fieldTables: Record<GenerateWireFormat, FieldTable> = {
  chat: chatFields,
  messages: messagesFields,
  responses: responsesFields,
  gemini: geminiFields,
}
