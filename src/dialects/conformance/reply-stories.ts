import type { ChoiceEnd, FinishReason, PartDelta, ReplyEvent } from '../../call/event.ts'
import type { OutputPart, ReasoningPart, TokenLogprob } from '../../call/part.ts'
import { noTokens, type Usage } from '../../call/usage.ts'

/** One thing a model may answer with, as the events of a stream. */
export interface ReplyStory {
  name: string
  events: ReplyEvent[]
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const plainUsage: Usage = { ...noTokens, input: 20, output: 10 }

/** Every bucket has another number, so that two that are mixed up show. */
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

/** A part as it streams: how it starts, and what follows. */
export interface Streamed {
  start: OutputPart
  deltas: PartDelta[]
}

export function end(reason: FinishReason, more: Partial<ChoiceEnd> = {}, choice = 0): ChoiceEnd {
  return { type: 'choice-end', choice, reason, native: null, ...more }
}

const start: ReplyEvent = { type: 'reply-start', id: 'up-1', model: 'upstream-model' }

/** The events of parts that follow one another. */
export function partEvents(parts: Streamed[], choice = 0): ReplyEvent[] {
  return parts.flatMap(({ start: content, deltas }, part): ReplyEvent[] => [
    { type: 'part-start', choice, part, content },
    ...deltas.map((delta): ReplyEvent => ({ type: 'part-delta', choice, part, delta })),
    { type: 'part-end', choice, part },
  ])
}

/** The events of a whole reply around what is inside. */
export function replyOf(inside: ReplyEvent[], ends: ChoiceEnd[], usage: Usage = plainUsage): ReplyEvent[] {
  return [start, ...inside, ...ends, { type: 'usage', usage }, { type: 'reply-end' }]
}

function story(name: string, parts: Streamed[], ended = end('stop'), usage = plainUsage): ReplyStory {
  return { name, events: replyOf(partEvents(parts), [ended], usage) }
}

export function text(...pieces: string[]): Streamed {
  return { start: { kind: 'text', text: '' }, deltas: pieces.map((piece) => ({ text: piece })) }
}

export function toolCall(id: string, name: string, ...pieces: string[]): Streamed {
  return {
    start: { kind: 'tool-call', id, name, arguments: '' },
    deltas: pieces.map((piece) => ({ arguments: piece })),
  }
}

function thought(format: ReasoningPart['format'], deltas: PartDelta[], id?: string): Streamed {
  return {
    start: { kind: 'reasoning', text: '', summary: [], format, ...(id !== undefined && { id }) },
    deltas,
  }
}

/** What one vendor hangs on the part that follows. */
function signature(seal: string, id?: string): Streamed {
  const part: ReasoningPart = {
    kind: 'reasoning',
    text: '',
    summary: [],
    signature: seal,
    format: 'vendor_c-v1',
  }
  return { start: id === undefined ? part : { ...part, id }, deltas: [] }
}

const prose = 'Grüße aus Oslo: −4 °C, 雪 ❄️.\nMorgen wird es "klar" \\ kalt.\u2028Ende. '

/** How each vendor's thinking streams. */
export const vendorThinking: Record<string, Streamed[]> = {
  'Anthropic thinking': [
    thought('vendor_a-v1', [
      { text: 'Snow, ' },
      { text: 'so cold.' },
      { signature: 'ErUBCkYIBBgCKkCsigA+/==' },
    ]),
    text('It is cold.'),
  ],
  'Anthropic redacted thinking': [
    {
      start: { kind: 'reasoning', text: '', summary: [], encrypted: 'EroBredA+/==', format: 'vendor_a-v1' },
      deltas: [],
    },
    text('It is cold.'),
  ],
  'Anthropic thinking in two blocks': [
    thought('vendor_a-v1', [{ text: 'First.' }, { signature: 'ErUBfirst+/==' }]),
    thought('vendor_a-v1', [{ text: 'Second.' }, { signature: 'ErUBsecond+/==' }]),
    text('It is cold.'),
  ],
  'OpenAI reasoning item': [
    thought(
      'vendor_b-responses-v1',
      [
        { summary: '**Looking**', section: 0 },
        { summary: ' at the sky', section: 0 },
        { summary: 'It snows.', section: 1 },
        { encrypted: 'gAAAAABosigB+/==' },
      ],
      'rs_68af4030',
    ),
    text('It is cold.'),
  ],
  'xAI reasoning item': [
    thought(
      'vendor_d-responses-v1',
      [{ summary: 'It snows.', section: 0 }, { encrypted: 'xAisigD+/==' }],
      'rs_d1',
    ),
    text('It is cold.'),
  ],
  'Gemini thoughts and the signature of a call': [
    thought('vendor_c-v1', [{ text: '**Plan**\n' }, { text: 'Ask the tool.' }]),
    signature('CiQBsigC+/==', 'call_g'),
    toolCall('call_g', 'get_weather', '{"city":"Oslo"}'),
  ],
  'Gemini signatures of two calls': [
    signature('CiQBone+/==', 'call_1'),
    toolCall('call_1', 'get_weather', '{"city":"Oslo"}'),
    signature('CiQBtwo+/==', 'call_2'),
    toolCall('call_2', 'get_weather', '{"city":"Bergen"}'),
  ],
  'Gemini signature of a text': [signature('CiQBtextC+/=='), text('It is cold.')],
  'Unsigned thinking': [thought('unknown', [{ text: 'Snow, ' }, { text: 'so cold.' }]), text('It is cold.')],
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

const callEnd = end('tool_calls')
const [first, second] = [
  toolCall('call_a', 'get_weather', '{"ci', 'ty":"Os', 'lo","n":[1,2]}'),
  toolCall('call_b', 'get_weather', '{"city"', ':"京', '都","q":"a \\"b\\" \\\\"}'),
]

/** Two calls whose arguments take turns. */
function interleaved(): ReplyEvent[] {
  const delta = (part: number, piece: PartDelta | undefined): ReplyEvent[] =>
    piece ? [{ type: 'part-delta', choice: 0, part, delta: piece }] : []
  return [
    { type: 'part-start', choice: 0, part: 0, content: first.start },
    { type: 'part-start', choice: 0, part: 1, content: second.start },
    ...[0, 1, 2].flatMap((at) => [...delta(0, first.deltas[at]), ...delta(1, second.deltas[at])]),
    { type: 'part-end', choice: 0, part: 0 },
    { type: 'part-end', choice: 0, part: 1 },
  ]
}

/** What one format has and the others have no word for. */
const ownBlocks: Record<string, OutputPart> = {
  'Block that only Messages has': {
    kind: 'opaque',
    dialect: 'messages',
    value: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'ferry' } },
  },
  'Item that only Responses has': {
    kind: 'opaque',
    dialect: 'responses',
    value: { id: 'fs_1', type: 'file_search_call', status: 'completed', queries: ['ferry'], results: null },
  },
  'Part that only Gemini has': {
    kind: 'opaque',
    dialect: 'gemini',
    value: { executableCode: { language: 'PYTHON', code: 'print(1)' } },
  },
}

/** A vendor that does not say when a call is over. */
function textAfterCall(): ReplyEvent[] {
  const [opened, ended] = [
    partEvents([toolCall('call_a', 'get_weather', '{"city":"Oslo"}'), text('I asked.')]),
    (event: ReplyEvent) => event.type === 'part-end',
  ]
  return [...opened.filter((event) => !ended(event)), ...opened.filter(ended)]
}

export const replyStories: ReplyStory[] = [
  story('Text', [text('It is ', 'cold.')]),
  story('Long text in small pieces', [text(...Array.from({ length: 6 }, () => [...prose]).flat())]),
  story('An empty answer', []),
  story('Tool call', [text('I look.'), toolCall('call_a', 'get_weather', '{"city":', '"Oslo"}')], callEnd),
  { name: 'Parallel tool calls', events: replyOf(partEvents([first, second]), [callEnd]) },
  { name: 'Parallel tool calls that take turns', events: replyOf(interleaved(), [callEnd]) },
  { name: 'Text after a tool call', events: replyOf(textAfterCall(), [callEnd]) },
  story(
    'Tool call with spaces in its arguments',
    [toolCall('call_a', 'get_weather', '{ "city" :', ' "Oslo"\n}')],
    callEnd,
  ),
  story(
    'Call of a free-text tool',
    [
      {
        start: { kind: 'tool-call', id: 'call_p', name: 'patch', arguments: '', custom: true },
        deltas: [{ arguments: '*** Begin "x"\n' }, { arguments: '+1 \\' }],
      },
    ],
    callEnd,
  ),
  story('Tool call without arguments', [toolCall('call_a', 'get_time', '{}')], callEnd),
  story('Tool call with nothing for arguments', [toolCall('call_a', 'get_time')], callEnd),
  ...Object.entries(vendorThinking).map(([name, parts]) =>
    story(name, parts, parts.some(({ start: part }) => part.kind === 'tool-call') ? callEnd : end('stop')),
  ),
  story('Refusal', [
    { start: { kind: 'refusal', text: '' }, deltas: [{ text: 'I will ' }, { text: 'not.' }] },
  ]),
  story('Cut short', [text('It is')], end('length')),
  story('Content filter', [text('It is')], end('content_filter')),
  story('Content filter with its reason', [], end('content_filter', { explanation: 'About weapons.' })),
  story('Stop sequence', [text('It is')], end('stop', { stopSequence: 'END' })),
  story('Citations', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'The ferry leaves at 8.' },
        {
          citation: {
            url: 'https://example.com/ferry',
            title: 'Timetable',
            cited: 'Departure 08:00',
            start: 4,
            end: 21,
          },
        },
      ],
    },
  ]),
  story('Citations of files', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'The ferry leaves at 8.' },
        {
          citation: {
            title: 'ferry.pdf',
            file: { id: 'file-1', name: 'ferry.pdf' },
            cited: 'Departure 08:00',
          },
        },
      ],
    },
  ]),
  story('Log probabilities', [
    {
      start: { kind: 'text', text: '' },
      deltas: [
        { text: 'Co', logprobs: logprobs.slice(0, 1) },
        { text: 'ld', logprobs: logprobs.slice(1) },
      ],
    },
  ]),
  {
    name: 'Several answers (n)',
    events: replyOf(
      [...partEvents([text('Cold.')], 0), ...partEvents([text('Very ', 'cold.')], 1)],
      [end('stop'), end('length', {}, 1)],
    ),
  },
  story('Image', [
    text('Here: '),
    { start: { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: png } }, deltas: [] },
  ]),
  story('Audio', [
    {
      start: { kind: 'audio', data: '', format: 'pcm16', id: 'audio_1', expiresAt: 1_790_003_600 },
      deltas: [{ transcript: 'It is ' }, { transcript: 'cold.' }, { data: 'AAEC' }, { data: 'AwQF' }],
    },
  ]),
  ...Object.entries(ownBlocks).map(([name, part]) =>
    story(name, [text('Done.'), { start: part, deltas: [] }]),
  ),
  story('Usage with every bucket', [text('It is cold.')], end('stop'), fullUsage),
]
