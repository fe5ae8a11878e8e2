import type { GenerateDialect } from '../../catalogue/vocabulary.ts'

/** Something that reaches an upstream in other words: nothing is lost, and nothing is reported as dropped. */
export interface Adaptation {
  upstream: GenerateDialect
  /** Names of request stories. */
  scenarios: string[]
  /** What a comparison word for word finds. */
  differences: string[]
  /** For the documents. */
  note: string
}

const flatToolName = {
  scenarios: ['Tool in a namespace'],
  differences: ['tools.namespace'],
  note: 'goes by the name `namespace__tool`; a Responses client gets its own names back',
}
const freeTextScenarios = ['Free-text tool', 'A call of a free-text tool']
const hiddenReasoning = {
  scenarios: ['Reasoning: hidden'],
  differences: ['reasoning.exclude'],
  note: 'the model thinks, the gateway takes the thinking out of the reply',
}
const adaptiveReasoning = { scenarios: ['Reasoning: as the model likes'], differences: ['reasoning'] }
const minBudget = {
  scenarios: ['Reasoning: least effort'],
  differences: ['reasoning'],
  note: 'becomes a budget of 1,024 tokens, the least there is',
}
const schemaLabel = {
  scenarios: ['Structured output', 'Structured output with a description'],
  differences: ['response_format.name', 'response_format.strict'],
  note: 'the schema is always enforced here; its name is a label that is not sent',
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
    note: 'becomes a function with one string, `input`; the client gets free text back',
  },
  {
    upstream: 'gemini',
    scenarios: freeTextScenarios,
    differences: ['tools.custom'],
    note: 'becomes a function with one string, `input`; the client gets free text back',
  },
  {
    upstream: 'messages',
    scenarios: ['Free-text tool with a grammar'],
    differences: ['tools.custom', 'tools.format'],
    note: 'becomes a function with one string, `input`, and the grammar is told in its description',
  },
  {
    upstream: 'gemini',
    scenarios: ['Free-text tool with a grammar'],
    differences: ['tools.custom'],
    note: 'becomes a function with one string, `input`',
  },
  { upstream: 'chat', ...adaptiveReasoning, note: 'becomes a medium effort' },
  { upstream: 'responses', ...adaptiveReasoning, note: 'becomes a medium effort' },
  {
    upstream: 'messages',
    ...adaptiveReasoning,
    note: 'becomes a budget of half the limit, for models that cannot decide themselves',
  },
  {
    upstream: 'messages',
    scenarios: ['No limit of the answer'],
    differences: ['added:max_tokens'],
    note: 'the format wants a limit: that of the model is sent',
  },
  {
    upstream: 'messages',
    scenarios: ['Tool choice: some tools'],
    differences: ['tool_choice', 'tools'],
    note: 'only the allowed tools are offered',
  },
  {
    upstream: 'messages',
    scenarios: ['Parallel tool calls off'],
    differences: ['added:tool_choice'],
    note: 'said as part of `tool_choice: auto`',
  },
  {
    upstream: 'messages',
    scenarios: ['user'],
    differences: ['user'],
    note: 'sent as a hash, in `metadata.user_id`',
  },
  {
    upstream: 'gemini',
    scenarios: ['Document to cite from'],
    differences: ['added:text', 'file_context'],
    note: 'the context goes in front of the file as text',
  },
  {
    upstream: 'gemini',
    scenarios: ['Audio output'],
    differences: ['audio'],
    note: 'the voice is sent; sound of this format is always `pcm16`',
  },
]

/** What the replies of a format have no room for, with what a client of it sees instead. */
export interface ReplyLoss {
  /** What a comparison finds. */
  differences: string[]
  note: string
}

const asTextNote = 'the words come as text'

export const replyLosses: Record<GenerateDialect, ReplyLoss[]> = {
  chat: [
    {
      differences: ['citations'],
      note: 'not told: the format cites addresses, and clients refuse anything else',
    },
    { differences: ['opaque'], note: 'not shown: only clients of its own format know it' },
    {
      differences: ['order'],
      note: 'text, calls and pictures each have their place: which came first is not told',
    },
  ],
  messages: [
    { differences: ['custom'], note: 'a call with one string, `input`' },
    { differences: ['opaque'], note: 'not shown: only clients of its own format know it' },
    { differences: ['n'], note: 'only the first answer is given' },
    { differences: ['logprobs'], note: 'not told' },
    {
      differences: ['refusal', 'added:text', 'finish_reason'],
      note: `${asTextNote}, with stop_reason \`refusal\``,
    },
    { differences: ['audio', 'added:text'], note: `the transcript comes as text, the sound does not` },
    {
      differences: ['arguments.bytes'],
      note: 'in a whole reply the arguments of a call are an object: the same values, without the spaces',
    },
    { differences: ['citations.place'], note: 'a citation follows the passage it is about' },
  ],
  responses: [
    { differences: ['opaque'], note: 'not shown: only clients of its own format know it' },
    { differences: ['n'], note: 'only the first answer is given' },
    { differences: ['stop_sequence'], note: 'which stop sequence it was is not told' },
    { differences: ['explanation'], note: 'why the vendor refused is not told' },
  ],
  gemini: [
    { differences: ['custom'], note: 'a call with one string, `input`' },
    { differences: ['opaque'], note: 'not shown: only clients of its own format know it' },
    { differences: ['stop_sequence'], note: 'which stop sequence it was is not told' },
    {
      differences: ['refusal', 'added:text', 'finish_reason'],
      note: `${asTextNote}, with finishReason \`SAFETY\``,
    },
    {
      differences: ['arguments.bytes'],
      note: 'the arguments of a call are an object: the same values, without the spaces',
    },
    {
      differences: ['order'],
      note: 'a call goes out when it is complete: text that came meanwhile comes before it',
    },
    { differences: ['logprobs.bytes'], note: 'tokens come as text, without their bytes' },
    { differences: ['citations.cited'], note: 'the words of the source are not repeated' },
    { differences: ['audio.id', 'audio.transcript', 'added:text'], note: 'the transcript comes as text' },
    {
      differences: ['reasoning_signature', 'reasoning', 'added:reasoning'],
      note: 'thinking of other vendors is packed into `thoughtSignature` and comes back whole with the history',
    },
  ],
}
