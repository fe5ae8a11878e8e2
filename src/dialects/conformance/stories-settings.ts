import type { ReasoningPart } from '../../call/part.ts'
import { assistant, call, result, richSchema, story, talk, user, weather } from './request-story.ts'

export const output = [
  story('Structured output', {
    format: { kind: 'schema', name: 'forecast', schema: richSchema, strict: true },
  }),
  story('Structured output with a description', {
    format: { kind: 'schema', name: 'forecast', schema: richSchema, description: 'One day.' },
  }),
  story('JSON without a schema', { format: { kind: 'json' } }),
  story('Grammar for the answer', { format: { kind: 'grammar', grammar: 'root ::= "yes" | "no"' } }),
  story('Verbosity', { verbosity: 'low' }),
  story('Several answers (n)', { n: 3 }),
  story('Image output', { modalities: ['text', 'image'], imageConfig: { aspect_ratio: '16:9' } }),
  story('Audio output', { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } }),
  story('Predicted output', { prediction: 'const a = 1\n' }),
  story('Log probabilities', { logprobs: true, topLogprobs: 3 }),
]

export const sampling = [
  story('temperature', { temperature: 0.4 }),
  story('temperature above 1', { temperature: 1.6 }),
  story('top_p', { topP: 0.8 }),
  story('temperature and top_p', { temperature: 0.4, topP: 0.8 }),
  story('top_k', { topK: 40 }),
  story('min_p', { minP: 0.05 }),
  story('top_a', { topA: 0.2 }),
  story('frequency_penalty', { frequencyPenalty: 0.5 }),
  story('presence_penalty', { presencePenalty: -0.5 }),
  story('repetition_penalty', { repetitionPenalty: 1.1 }),
  story('seed', { seed: 42 }),
  story('stop', { stop: ['END', '\n\nHuman:'] }),
  story('logit_bias', { logitBias: { '50256': -100 } }),
]

export const reasoning = [
  story('Reasoning: effort', { reasoning: { effort: 'high' } }),
  story('Reasoning: least effort', { reasoning: { effort: 'minimal' } }),
  story('Reasoning: budget', { reasoning: { maxTokens: 2048 } }),
  story('Reasoning: on', { reasoning: { enabled: true } }),
  story('Reasoning: off', { reasoning: { enabled: false } }),
  story('Reasoning: as the model likes', { reasoning: { adaptive: true } }),
  story('Reasoning: hidden', { reasoning: { effort: 'medium', exclude: true } }),
  story('Reasoning: detailed summary', { reasoning: { effort: 'medium', summary: 'detailed' } }),
]

const vendorThoughts: Record<string, ReasoningPart> = {
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

export const thoughts = [
  ...Object.entries(vendorThoughts).map(([name, part]) =>
    story(`History with ${name}`, {
      tools: [weather],
      messages: [
        user('Weather?'),
        assistant(part, call('call_sig', '{"city":"Oslo"}')),
        user(result('call_sig', 'snow')),
      ],
    }),
  ),
  talk(
    'History with unsigned reasoning',
    user('Cold?'),
    assistant({ kind: 'reasoning', text: 'It snows.', summary: [], format: 'unknown' }, 'Yes.'),
    user('Sure?'),
  ),
]

export const caching = [
  talk('Cache mark on text', user({ kind: 'text', text: 'A long prefix.', cache: {} }, 'Question?')),
  talk(
    'Cache mark of one hour',
    user({ kind: 'text', text: 'A long prefix.', cache: { ttl: '1h' } }, 'Question?'),
  ),
  talk(
    'Cache mark on the system prompt',
    { role: 'system', parts: [{ kind: 'text', text: 'Rules.', cache: { ttl: '5m' } }] },
    user('Question?'),
  ),
  story('Cache mark on a tool', { tools: [{ ...weather, cache: {} }] }),
  story('Cache mark on a tool result', {
    tools: [weather],
    messages: [
      user('Weather?'),
      assistant(call('call_c', '{"city":"Oslo"}')),
      user({ ...result('call_c', 'snow'), cache: {} }),
    ],
  }),
  story('Automatic caching', { cache: { ttl: '5m' } }),
  story('prompt_cache_key', { promptCacheKey: 'thread-7' }),
]

export const surroundings = [
  story('Service tier: default', { serviceTier: 'default' }),
  story('Service tier: flex', { serviceTier: 'flex' }),
  story('Service tier: priority', { serviceTier: 'priority' }),
  story('user', { user: 'user-7' }),
  story('metadata', { metadata: { ticket: 'T-12' } }),
  story('A field only the client knows', { unknown: ['vendor_extra'] }),
]

export const own = [
  story('Server tool of Messages', {
    tools: [
      {
        kind: 'native',
        dialect: 'messages',
        type: 'web_search_20250305',
        value: { type: 'web_search_20250305', name: 'web_search' },
      },
    ],
  }),
  story('Server tool of Responses', {
    tools: [
      {
        kind: 'native',
        dialect: 'responses',
        type: 'file_search',
        value: { type: 'file_search', vector_store_ids: ['vs_1'] },
      },
    ],
  }),
  story('Server tool of Gemini', {
    tools: [{ kind: 'native', dialect: 'gemini', type: 'googleSearch', value: { googleSearch: {} } }],
  }),
  talk(
    'Block only Messages knows',
    user('Find it.'),
    assistant(
      {
        kind: 'opaque',
        dialect: 'messages',
        value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'ferry' } },
      },
      'At 8.',
    ),
    user('Thanks.'),
  ),
  talk(
    'Item only Responses knows',
    user('Find it.'),
    assistant(
      {
        kind: 'opaque',
        dialect: 'responses',
        value: { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      },
      'At 8.',
    ),
    user('Thanks.'),
  ),
  talk(
    'Part only Gemini knows',
    user('Compute.'),
    assistant(
      {
        kind: 'opaque',
        dialect: 'gemini',
        value: { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      },
      '1',
    ),
    user('Thanks.'),
  ),
  talk(
    'Part only Chat knows',
    user(
      { kind: 'opaque', dialect: 'chat', value: { type: 'voice_note', voice_note: { id: 'v1' } } },
      'What?',
    ),
  ),
]
