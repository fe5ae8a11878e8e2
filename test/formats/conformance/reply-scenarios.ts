import type { ChoiceEnd, FinishReason, PartDelta, ReplyEvent } from '../../../src/formats/call/event.ts'
import type { OutputPart, ReasoningPart, TokenLogprob } from '../../../src/formats/call/part.ts'
import { type Usage, zeroUsage } from '../../../src/formats/call/usage.ts'

/** One kind of reply, as the events of a stream. */
export interface ReplyScenario {
  name: string
  events: ReplyEvent[]
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const plainUsage: Usage = { ...zeroUsage, input: 20, output: 10 }

/** Every count is different, so that mixed-up counts are detected. */
const fullUsage: Usage = {
  input: 1009,
  cacheRead: 503,
  cacheReadAudio: 61,
  cacheWrite: 211,
  cacheWrite1h: 101,
  inputAudio: 47,
  inputImage: 23,
  inputVideo: 13,
  output: 401,
  reasoning: 157,
  outputAudio: 79,
  outputImage: 37,
  acceptedPrediction: 7,
  rejectedPrediction: 3,
  webSearches: 2,
  reportedCost: null,
}

/** A streamed part: its start and its deltas. */
export interface StreamedPart {
  start: OutputPart
  deltas: PartDelta[]
}

export function createChoiceEnd(reason: FinishReason, more: Partial<ChoiceEnd> = {}, choice = 0): ChoiceEnd {
  return { type: 'choice-end', choice, reason, native: null, ...more }
}

const replyStart: ReplyEvent = { type: 'reply-start', id: 'up-1', model: 'upstream-model' }

/** The events of consecutive parts. */
export function createPartEvents(parts: StreamedPart[], choice = 0): ReplyEvent[] {
  return parts.flatMap(({ start: content, deltas }, part): ReplyEvent[] => [
    { type: 'part-start', choice, part, content },
    ...deltas.map((delta): ReplyEvent => ({ type: 'part-delta', choice, part, delta })),
    { type: 'part-end', choice, part },
  ])
}

/** Wraps content events in the events of a whole reply. */
export function createReplyEvents(
  contentEvents: ReplyEvent[],
  ends: ChoiceEnd[],
  usage: Usage = plainUsage,
): ReplyEvent[] {
  return [replyStart, ...contentEvents, ...ends, { type: 'usage', usage }, { type: 'reply-end' }]
}

function scenario(
  name: string,
  parts: StreamedPart[],
  choiceEnd = createChoiceEnd('stop'),
  usage = plainUsage,
): ReplyScenario {
  return { name, events: createReplyEvents(createPartEvents(parts), [choiceEnd], usage) }
}

export function textPart(...chunks: string[]): StreamedPart {
  return { start: { kind: 'text', text: '' }, deltas: chunks.map((chunk) => ({ text: chunk })) }
}

export function toolCallPart(id: string, name: string, ...chunks: string[]): StreamedPart {
  return {
    start: { kind: 'tool-call', id, name, arguments: '' },
    deltas: chunks.map((chunk) => ({ arguments: chunk })),
  }
}

function reasoningPart(format: ReasoningPart['format'], deltas: PartDelta[], id?: string): StreamedPart {
  return {
    start: { kind: 'reasoning', text: '', summary: [], format, ...(id !== undefined && { id }) },
    deltas,
  }
}

/** A signature that the vendor attaches to the next part. */
function signaturePart(signature: string, id?: string): StreamedPart {
  const part: ReasoningPart = {
    kind: 'reasoning',
    text: '',
    summary: [],
    signature,
    format: 'vendor_c-v1',
  }
  return { start: id === undefined ? part : { ...part, id }, deltas: [] }
}

const prose = 'Grüße aus Oslo: −4 °C, 雪 ❄️.\nMorgen wird es "klar" \\ kalt.\u2028Ende. '

/** Streamed reasoning of each vendor. */
export const vendorReasoning: Record<string, StreamedPart[]> = {
  'Anthropic thinking': [
    reasoningPart('vendor_a-v1', [
      { text: 'Snow, ' },
      { text: 'so cold.' },
      { signature: 'ErUBCkYIBBgCKkCsigA+/==' },
    ]),
    textPart('It is cold.'),
  ],
  'Anthropic redacted thinking': [
    {
      start: { kind: 'reasoning', text: '', summary: [], encrypted: 'EroBredA+/==', format: 'vendor_a-v1' },
      deltas: [],
    },
    textPart('It is cold.'),
  ],
  'Anthropic thinking in two blocks': [
    reasoningPart('vendor_a-v1', [{ text: 'First.' }, { signature: 'ErUBfirst+/==' }]),
    reasoningPart('vendor_a-v1', [{ text: 'Second.' }, { signature: 'ErUBsecond+/==' }]),
    textPart('It is cold.'),
  ],
  'OpenAI reasoning item': [
    reasoningPart(
      'vendor_b-responses-v1',
      [
        { summary: '**Looking**', section: 0 },
        { summary: ' at the sky', section: 0 },
        { summary: 'It snows.', section: 1 },
        { encrypted: 'gAAAAABosigB+/==' },
      ],
      'rs_68af4030',
    ),
    textPart('It is cold.'),
  ],
  'xAI reasoning item': [
    reasoningPart(
      'vendor_d-responses-v1',
      [{ summary: 'It snows.', section: 0 }, { encrypted: 'xAisigD+/==' }],
      'rs_d1',
    ),
    textPart('It is cold.'),
  ],
  'Gemini thoughts with a tool call signature': [
    reasoningPart('vendor_c-v1', [{ text: '**Plan**\n' }, { text: 'Ask the tool.' }]),
    signaturePart('CiQBsigC+/==', 'call_g'),
    toolCallPart('call_g', 'get_weather', '{"city":"Oslo"}'),
  ],
  'Gemini signatures of two tool calls': [
    signaturePart('CiQBone+/==', 'call_1'),
    toolCallPart('call_1', 'get_weather', '{"city":"Oslo"}'),
    signaturePart('CiQBtwo+/==', 'call_2'),
    toolCallPart('call_2', 'get_weather', '{"city":"Bergen"}'),
  ],
  'Gemini text signature': [signaturePart('CiQBtextC+/=='), textPart('It is cold.')],
  'Unsigned reasoning': [
    reasoningPart('unknown', [{ text: 'Snow, ' }, { text: 'so cold.' }]),
    textPart('It is cold.'),
  ],
}

const logprobs: TokenLogprob[] = [
  {
    token: 'Co',
    logprob: -0.25,
    bytes: [67, 111],
    top: [
      { token: 'Co', logprob: -0.25, bytes: [67, 111] },
      { token: 'Wa', logprob: -2.5, bytes: [87, 97] },
    ],
  },
  { token: 'ld', logprob: -0.5, bytes: [108, 100], top: [{ token: 'ld', logprob: -0.5, bytes: [108, 100] }] },
]

const toolCallsEnd = createChoiceEnd('tool_calls')
const [firstToolCall, secondToolCall] = [
  toolCallPart('call_a', 'get_weather', '{"ci', 'ty":"Os', 'lo","n":[1,2]}'),
  toolCallPart('call_b', 'get_weather', '{"city"', ':"京', '都","q":"a \\"b\\" \\\\"}'),
]

/** Two tool calls with interleaved argument deltas. */
function createInterleavedEvents(): ReplyEvent[] {
  const delta = (part: number, chunk: PartDelta | undefined): ReplyEvent[] =>
    chunk ? [{ type: 'part-delta', choice: 0, part, delta: chunk }] : []
  return [
    { type: 'part-start', choice: 0, part: 0, content: firstToolCall.start },
    { type: 'part-start', choice: 0, part: 1, content: secondToolCall.start },
    ...[0, 1, 2].flatMap((index) => [
      ...delta(0, firstToolCall.deltas[index]),
      ...delta(1, secondToolCall.deltas[index]),
    ]),
    { type: 'part-end', choice: 0, part: 0 },
    { type: 'part-end', choice: 0, part: 1 },
  ]
}

/** Parts that only one format has. */
const nativeBlocks: Record<string, OutputPart> = {
  'Messages-only block': {
    kind: 'opaque',
    wireFormat: 'messages',
    value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'ferry' } },
  },
  'Responses-only item': {
    kind: 'opaque',
    wireFormat: 'responses',
    value: { id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['ferry'], results: null },
  },
  'Gemini-only part': {
    kind: 'opaque',
    wireFormat: 'gemini',
    value: { executableCode: { language: 'PYTHON', code: 'print(1)' } },
  },
}

/** A vendor that does not mark the end of a tool call. */
function createTextAfterToolCall(): ReplyEvent[] {
  const [events, isPartEnd] = [
    createPartEvents([
      toolCallPart('call_a', 'get_weather', '{"city":"Oslo"}'),
      textPart('I called the tool.'),
    ]),
    (event: ReplyEvent) => event.type === 'part-end',
  ]
  return [...events.filter((event) => !isPartEnd(event)), ...events.filter(isPartEnd)]
}

export const replyScenarios: ReplyScenario[] = [
  scenario('Text', [textPart('It is ', 'cold.')]),
  scenario('Long text in small chunks', [textPart(...Array.from({ length: 6 }, () => [...prose]).flat())]),
  scenario('Empty reply', []),
  scenario(
    'Tool call',
    [textPart('I look.'), toolCallPart('call_a', 'get_weather', '{"city":', '"Oslo"}')],
    toolCallsEnd,
  ),
  {
    name: 'Parallel tool calls',
    events: createReplyEvents(createPartEvents([firstToolCall, secondToolCall]), [toolCallsEnd]),
  },
  {
    name: 'Interleaved parallel tool calls',
    events: createReplyEvents(createInterleavedEvents(), [toolCallsEnd]),
  },
  { name: 'Text after a tool call', events: createReplyEvents(createTextAfterToolCall(), [toolCallsEnd]) },
  scenario(
    'Tool call with white space in its arguments',
    [toolCallPart('call_a', 'get_weather', '{ "city" :', ' "Oslo"\n}')],
    toolCallsEnd,
  ),
  scenario(
    'Free-text tool call',
    [
      {
        start: { kind: 'tool-call', id: 'call_p', name: 'patch', arguments: '', custom: true },
        deltas: [{ arguments: '*** Begin "x"\n' }, { arguments: '+1 \\' }],
      },
    ],
    toolCallsEnd,
  ),
  scenario('Tool call without arguments', [toolCallPart('call_a', 'get_time', '{}')], toolCallsEnd),
  scenario('Tool call with an empty arguments string', [toolCallPart('call_a', 'get_time')], toolCallsEnd),
  ...Object.entries(vendorReasoning).map(([name, parts]) =>
    scenario(
      name,
      parts,
      parts.some(({ start: part }) => part.kind === 'tool-call') ? toolCallsEnd : createChoiceEnd('stop'),
    ),
  ),
  scenario('Refusal', [
    { start: { kind: 'refusal', text: '' }, deltas: [{ text: 'I will ' }, { text: 'not.' }] },
  ]),
  scenario('Truncated at the token limit', [textPart('It is')], createChoiceEnd('length')),
  scenario('Content filter', [textPart('It is')], createChoiceEnd('content_filter')),
  scenario(
    'Content filter with an explanation',
    [],
    createChoiceEnd('content_filter', { explanation: 'About weapons.' }),
  ),
  scenario('Stop sequence', [textPart('It is')], createChoiceEnd('stop', { stopSequence: 'END' })),
  scenario('Citations', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'The ferry leaves at 8.' },
        {
          citation: {
            url: 'https://example.com/ferry',
            title: 'Timetable',
            citedText: 'Departure 08:00',
            start: 4,
            end: 21,
          },
        },
      ],
    },
  ]),
  scenario('File citations', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'The ferry leaves at 8.' },
        {
          citation: {
            title: 'ferry.pdf',
            file: { id: 'file-1', name: 'ferry.pdf' },
            citedText: 'Departure 08:00',
          },
        },
      ],
    },
  ]),
  scenario('Log probabilities', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'Co', logprobs: logprobs.slice(0, 1) },
        { text: 'ld', logprobs: logprobs.slice(1) },
      ],
    },
  ]),
  {
    name: 'Multiple choices (`n`)',
    events: createReplyEvents(
      [...createPartEvents([textPart('Cold.')], 0), ...createPartEvents([textPart('Very ', 'cold.')], 1)],
      [createChoiceEnd('stop'), createChoiceEnd('length', {}, 1)],
    ),
  },
  scenario('Image', [
    textPart('Here: '),
    { start: { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } }, deltas: [] },
  ]),
  scenario('Audio', [
    {
      start: { kind: 'audio', data: '', format: 'pcm16', id: 'audio_1', expiresAt: 1_790_003_600 },
      deltas: [{ transcript: 'It is ' }, { transcript: 'cold.' }, { data: 'AAEC' }, { data: 'AwQF' }],
    },
  ]),
  ...Object.entries(nativeBlocks).map(([name, part]) =>
    scenario(name, [textPart('Done.'), { start: part, deltas: [] }]),
  ),
  scenario('Usage with every token count', [textPart('It is cold.')], createChoiceEnd('stop'), fullUsage),
]
