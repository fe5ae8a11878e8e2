import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'

/** A setting that reaches an upstream in another form: nothing is lost or reported as dropped. */
export interface Adaptation {
  upstream: GenerateWireFormat
  /** Names of request scenarios. */
  scenarios: string[]
  /** Differences that an exact comparison reports. */
  differences: string[]
  /** Shown in the documentation. */
  note: string
}

const flatToolName = {
  scenarios: ['Tool in a namespace'],
  differences: ['tools.namespace'],
  note: 'sent as `namespace__tool`; Responses clients receive the original name',
}
const freeTextScenarios = ['Free-text tool', 'Free-text tool call']
const hiddenReasoning = {
  scenarios: ['Reasoning: hidden'],
  differences: ['reasoning.exclude'],
  note: 'the gateway removes the reasoning from the reply',
}
const adaptiveReasoning = { scenarios: ['Reasoning: adaptive'], differences: ['reasoning'] }
const minBudget = {
  scenarios: ['Reasoning: minimal effort'],
  differences: ['reasoning'],
  note: 'becomes a budget of 1,024 tokens, the minimum',
}
const schemaLabel = {
  scenarios: ['Structured output', 'Structured output with a description'],
  differences: ['response_format.name', 'response_format.strict'],
  note: 'the schema is always enforced; its name is not sent',
}

export const adaptations: Adaptation[] = [
  { upstream: 'chat', ...flatToolName },
  { upstream: 'messages', ...flatToolName },
  { upstream: 'responses', ...flatToolName },
  { upstream: 'gemini', ...flatToolName },
  { upstream: 'chat', ...hiddenReasoning },
  { upstream: 'messages', ...hiddenReasoning },
  { upstream: 'responses', ...hiddenReasoning },
  { upstream: 'messages', ...minBudget },
  { upstream: 'gemini', ...minBudget },
  { upstream: 'messages', ...schemaLabel },
  { upstream: 'gemini', ...schemaLabel },
  {
    upstream: 'messages',
    scenarios: freeTextScenarios,
    differences: ['tools.custom'],
    note: 'becomes a function with a string parameter, `input`; the client receives free text',
  },
  {
    upstream: 'gemini',
    scenarios: freeTextScenarios,
    differences: ['tools.custom'],
    note: 'becomes a function with a string parameter, `input`; the client receives free text',
  },
  {
    upstream: 'messages',
    scenarios: ['Free-text tool with a grammar'],
    differences: ['tools.custom', 'tools.format'],
    note: 'becomes a function with a string parameter, `input`; the grammar goes into its description',
  },
  {
    upstream: 'gemini',
    scenarios: ['Free-text tool with a grammar'],
    differences: ['tools.custom'],
    note: 'becomes a function with a string parameter, `input`',
  },
  { upstream: 'chat', ...adaptiveReasoning, note: 'becomes medium effort' },
  { upstream: 'responses', ...adaptiveReasoning, note: 'becomes medium effort' },
  {
    upstream: 'messages',
    ...adaptiveReasoning,
    note: 'becomes a budget of half of `max_tokens` for models without adaptive thinking',
  },
  {
    upstream: 'messages',
    scenarios: ['No output limit'],
    differences: ['added:max_tokens'],
    note: '`max_tokens` is required: the limit of the model is sent',
  },
  {
    upstream: 'messages',
    scenarios: ['Tool choice: allowed tools'],
    differences: ['tool_choice', 'tools'],
    note: 'only the allowed tools are sent',
  },
  {
    upstream: 'messages',
    scenarios: ['Parallel tool calls disabled'],
    differences: ['added:tool_choice'],
    note: 'sent as `disable_parallel_tool_use` in `tool_choice`',
  },
  {
    upstream: 'messages',
    scenarios: ['user'],
    differences: ['user'],
    note: 'sent as a hash in `metadata.user_id`',
  },
  {
    upstream: 'gemini',
    scenarios: ['Document with citations'],
    differences: ['added:text', 'file_context'],
    note: 'the context is sent as text before the file',
  },
  {
    upstream: 'gemini',
    scenarios: ['Audio output'],
    differences: ['audio'],
    note: 'the voice is sent; the audio format is always `pcm16`',
  },
]

/** A loss of replies in a format, and what its clients receive instead. */
export interface ReplyLoss {
  /** Differences that a comparison reports. */
  differences: string[]
  note: string
}

export const replyLosses: Record<GenerateWireFormat, ReplyLoss[]> = {
  chat: [
    { differences: ['opaque'], note: 'dropped: the format has no equivalent' },
    {
      differences: ['order'],
      note: 'text, tool calls and images are in separate fields, so their order is lost',
    },
  ],
  messages: [
    { differences: ['custom'], note: 'becomes a tool call with a string argument, `input`' },
    { differences: ['opaque'], note: 'dropped: the format has no equivalent' },
    { differences: ['n'], note: 'only the first choice is returned' },
    { differences: ['logprobs'], note: 'dropped' },
    {
      differences: ['refusal', 'added:text', 'finish_reason'],
      note: 'sent as text with stop_reason `refusal`',
    },
    { differences: ['audio', 'added:text'], note: 'the transcript is sent as text; the audio is dropped' },
    {
      differences: ['arguments.bytes'],
      note: 'without streaming, arguments are a JSON object, so white space is lost',
    },
    { differences: ['citations.offsets'], note: 'citations follow the cited text; offsets are lost' },
  ],
  responses: [
    { differences: ['opaque'], note: 'dropped: the format has no equivalent' },
    { differences: ['n'], note: 'only the first choice is returned' },
    { differences: ['stop_sequence'], note: 'the matched stop sequence is dropped' },
    { differences: ['explanation'], note: 'the explanation is dropped' },
  ],
  gemini: [
    { differences: ['custom'], note: 'becomes a tool call with a string argument, `input`' },
    { differences: ['opaque'], note: 'dropped: the format has no equivalent' },
    { differences: ['stop_sequence'], note: 'the matched stop sequence is dropped' },
    {
      differences: ['refusal', 'added:text', 'finish_reason'],
      note: 'sent as text with finishReason `SAFETY`',
    },
    {
      differences: ['arguments.bytes'],
      note: 'arguments are a JSON object, so white space is lost',
    },
    {
      differences: ['order'],
      note: 'tool calls are sent when complete, after text that arrived in the meantime',
    },
    { differences: ['logprobs.bytes'], note: 'tokens are sent without their bytes' },
    { differences: ['citations.cited'], note: 'the cited text is dropped' },
    { differences: ['audio.id', 'audio.transcript', 'added:text'], note: 'the transcript is sent as text' },
    {
      differences: ['reasoning_signature', 'reasoning', 'added:reasoning'],
      note: 'packed into `thoughtSignature`, and restored when the client sends it back',
    },
  ],
}
