import type { ReasoningPart } from '../../../src/formats/call/part.ts'
import {
  assistantMessage,
  conversation,
  richSchema,
  scenario,
  toolCall,
  toolResult,
  userMessage,
  weatherTool,
} from './request-scenario.ts'

export const outputScenarios = [
  scenario('Structured output', {
    format: { kind: 'schema', name: 'forecast', schema: richSchema, strict: true },
  }),
  scenario('Structured output with a description', {
    format: { kind: 'schema', name: 'forecast', schema: richSchema, description: 'One day.' },
  }),
  scenario('JSON mode', { format: { kind: 'json' } }),
  scenario('Grammar', { format: { kind: 'grammar', grammar: 'root ::= "yes" | "no"' } }),
  scenario('Verbosity', { verbosity: 'low' }),
  scenario('Multiple choices (`n`)', { n: 3 }),
  scenario('Image output', { modalities: ['text', 'image'], imageConfig: { aspect_ratio: '16:9' } }),
  scenario('Audio output', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } }),
  scenario('Predicted output', { prediction: 'const a = 1\n' }),
  scenario('Log probabilities', { logprobs: true, topLogprobs: 3 }),
]

export const samplingScenarios = [
  scenario('temperature', { temperature: 0.4 }),
  scenario('temperature above 1', { temperature: 1.6 }),
  scenario('top_p', { topP: 0.8 }),
  scenario('temperature and top_p', { temperature: 0.4, topP: 0.8 }),
  scenario('top_k', { topK: 40 }),
  scenario('min_p', { minP: 0.05 }),
  scenario('top_a', { topA: 0.2 }),
  scenario('frequency_penalty', { frequencyPenalty: 0.5 }),
  scenario('presence_penalty', { presencePenalty: -0.5 }),
  scenario('repetition_penalty', { repetitionPenalty: 1.1 }),
  scenario('seed', { seed: 42 }),
  scenario('stop', { stop: ['END', '\n\nHuman:'] }),
  scenario('logit_bias', { logitBias: { '50256': -100 } }),
]

export const reasoningScenarios = [
  scenario('Reasoning: effort', { reasoning: { effort: 'high' } }),
  scenario('Reasoning: minimal effort', { reasoning: { effort: 'minimal' } }),
  scenario('Reasoning: budget', { reasoning: { maxTokens: 2048 } }),
  scenario('Reasoning: enabled', { reasoning: { enabled: true } }),
  scenario('Reasoning: disabled', { reasoning: { enabled: false } }),
  scenario('Reasoning: adaptive', { reasoning: { adaptive: true } }),
  scenario('Reasoning: hidden', { reasoning: { effort: 'medium', exclude: true } }),
  scenario('Reasoning: detailed summary', { reasoning: { effort: 'medium', summary: 'detailed' } }),
]

const vendorReasoning: Record<string, ReasoningPart> = {
  'Anthropic thinking': {
    kind: 'reasoning',
    text: 'Snow, so it is cold.',
    summary: [],
    signature: 'ErUBCkYIBBgCKkCsigA+/==',
    format: 'vendor_a-v1',
  },
  'Anthropic redacted thinking': {
    kind: 'reasoning',
    text: '',
    summary: [],
    encrypted: 'EroBCkYIBBgCKkDredA+/==',
    format: 'vendor_a-v1',
  },
  'OpenAI reasoning item': {
    kind: 'reasoning',
    id: 'rs_68af4030baa48193',
    text: '',
    summary: ['**Looking at the sky**', 'It snows.'],
    encrypted: 'gAAAAABosigB+/==',
    format: 'vendor_b-responses-v1',
  },
  'Gemini thought signature': {
    kind: 'reasoning',
    id: 'call_sig',
    text: '',
    summary: [],
    signature: 'CiQBcsjafSigC+/==',
    format: 'vendor_c-v1',
  },
}

export const reasoningHistoryScenarios = [
  ...Object.entries(vendorReasoning).map(([name, part]) =>
    scenario(`History with ${name}`, {
      tools: [weatherTool],
      messages: [
        userMessage('Weather?'),
        assistantMessage(part, toolCall('call_sig', '{"city":"Oslo"}')),
        userMessage(toolResult('call_sig', 'snow')),
      ],
    }),
  ),
  conversation(
    'History with unsigned reasoning',
    userMessage('Cold?'),
    assistantMessage({ kind: 'reasoning', text: 'It snows.', summary: [], format: 'unknown' }, 'Yes.'),
    userMessage('Sure?'),
  ),
]

export const cachingScenarios = [
  conversation(
    'Cache breakpoint on text',
    userMessage({ kind: 'text', text: 'A long prefix.', cache: {} }, 'Question?'),
  ),
  conversation(
    'Cache breakpoint with a TTL of one hour',
    userMessage({ kind: 'text', text: 'A long prefix.', cache: { ttl: '1h' } }, 'Question?'),
  ),
  conversation(
    'Cache breakpoint on the system prompt',
    { role: 'system', parts: [{ kind: 'text', text: 'Rules.', cache: { ttl: '5m' } }] },
    userMessage('Question?'),
  ),
  scenario('Cache breakpoint on a tool', { tools: [{ ...weatherTool, cache: {} }] }),
  scenario('Cache breakpoint on a tool result', {
    tools: [weatherTool],
    messages: [
      userMessage('Weather?'),
      assistantMessage(toolCall('call_c', '{"city":"Oslo"}')),
      userMessage({ ...toolResult('call_c', 'snow'), cache: {} }),
    ],
  }),
  scenario('Automatic caching', { cache: { ttl: '5m' } }),
  scenario('prompt_cache_key', { promptCacheKey: 'thread-7' }),
]

export const metadataScenarios = [
  scenario('Service tier: default', { serviceTier: 'default' }),
  scenario('Service tier: flex', { serviceTier: 'flex' }),
  scenario('Service tier: priority', { serviceTier: 'priority' }),
  scenario('user', { user: 'user-7' }),
  scenario('metadata', { metadata: { ticket: 'T-12' } }),
  scenario('Unknown field', { unknown: ['vendor_extra'] }),
]

export const nativeScenarios = [
  scenario('Messages server tool', {
    tools: [
      {
        kind: 'native',
        wireFormat: 'messages',
        type: 'web_search_20250305',
        value: { type: 'web_search_20250305', name: 'web_search' },
      },
    ],
  }),
  scenario('Responses server tool', {
    tools: [
      {
        kind: 'native',
        wireFormat: 'responses',
        type: 'file_search',
        value: { type: 'file_search', vector_store_ids: ['vs_1'] },
      },
    ],
  }),
  scenario('Gemini server tool', {
    tools: [{ kind: 'native', wireFormat: 'gemini', type: 'googleSearch', value: { googleSearch: {} } }],
  }),
  conversation(
    'Messages-only block',
    userMessage('Find it.'),
    assistantMessage(
      {
        kind: 'opaque',
        wireFormat: 'messages',
        value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'ferry' } },
      },
      'At 8.',
    ),
    userMessage('Thanks.'),
  ),
  conversation(
    'Responses-only item',
    userMessage('Find it.'),
    assistantMessage(
      {
        kind: 'opaque',
        wireFormat: 'responses',
        value: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      },
      'At 8.',
    ),
    userMessage('Thanks.'),
  ),
  conversation(
    'Gemini-only part',
    userMessage('Compute.'),
    assistantMessage(
      {
        kind: 'opaque',
        wireFormat: 'gemini',
        value: { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      },
      '1',
    ),
    userMessage('Thanks.'),
  ),
  conversation(
    'Chat-only part',
    userMessage(
      { kind: 'opaque', wireFormat: 'chat', value: { type: 'voice_note', voice_note: { id: 'v1' } } },
      'What?',
    ),
  ),
]
