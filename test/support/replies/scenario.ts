import { type Usage, zeroUsage } from '../../../src/formats/call/usage.ts'

/** The content of a reply, independent of the format. */
export interface Scenario {
  text: string
  reasoning?: { text: string; signature: string }
  toolCalls: { id: string; name: string; arguments: string }[]
  finish: 'stop' | 'length' | 'tool_calls'
  /** Usage in Headgate's buckets: every reader must come to these counts. */
  usage: Usage
}

/** A reply as a vendor sends it. */
export interface VendorReply {
  /** The stream: each frame with its blank line. */
  frames: string[]
  /** The whole reply. */
  body: Record<string, unknown>
  scenario: Scenario
  /** The scenario's usage, as detailed as this format reports it. */
  usage: Usage
}

const usage = (counts: Partial<Usage>): Usage => ({ ...zeroUsage, ...counts })

/** Multi-byte letters of several scripts, to be split in the middle. */
const text = 'Grüße aus Oslo: 4 °C, leichter Schneefall 🌨️, Wind 3 m/s.\n\n- Morgen: −2 °C\n- 明日は雪です。'

export const scenarios = {
  text: { text, toolCalls: [], finish: 'stop', usage: usage({ input: 23, cacheRead: 64, output: 41 }) },
  toolCalls: {
    text: 'I will look up both cities.',
    toolCalls: [
      { id: 'call_oslo7Qx', name: 'get_weather', arguments: '{"city": "Oslo", "unit":"celsius"}' },
      {
        id: 'call_kyoto2Zp',
        name: 'get_weather',
        arguments: '{"city":"京都","days":[1,2],"note":"a \\"b\\" \\\\ c"}',
      },
    ],
    finish: 'tool_calls',
    usage: usage({ input: 112, output: 58 }),
  },
  reasoning: {
    text: 'The answer is 570.',
    reasoning: {
      text: 'First 19 times 30.\nThat is 570, because 20 times 30 is 600 and 600 − 30 = 570.',
      signature: 'EuYBCkQYBCKAAf9mZXJlIGlzIG5vIHJlYWwgc2lnbmF0dXJlIGhlcmU+/w==',
    },
    toolCalls: [],
    finish: 'stop',
    usage: usage({ input: 18, output: 9, reasoning: 37 }),
  },
  reasoningToolCall: {
    text: '',
    reasoning: {
      text: 'The user wants the weather, so I need the tool.',
      signature: 'ErUBCkYIBBgCKkBzaWduYXR1cmUgYmVmb3JlIGEgdG9vbCBjYWxs+/8=',
    },
    toolCalls: [{ id: 'call_bergen9Lk', name: 'get_weather', arguments: '{"city":"Bergen"}' }],
    finish: 'tool_calls',
    usage: usage({ input: 95, output: 21, reasoning: 16 }),
  },
  structured: {
    text: '{"city":"Oslo","degrees":4,"warnings":[],"sky":{"cover":0.75,"snow":true}}',
    toolCalls: [],
    finish: 'stop',
    usage: usage({ input: 140, output: 30 }),
  },
  cutShort: {
    text: 'This answer ends in the middle of a',
    toolCalls: [],
    finish: 'length',
    usage: usage({ input: 12, output: 8 }),
  },
} satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof scenarios

/** A text of so many words, for load tests and faults at any byte. */
export function longScenario(words: number): Scenario {
  const vocabulary = ['snow', 'wind', 'fjord', 'ferry', 'harbour', 'morning', 'Ålesund', 'lighthouse']
  const long = Array.from({ length: words }, (_, index) => vocabulary[index % vocabulary.length]).join(' ')
  return { text: long, toolCalls: [], finish: 'stop', usage: usage({ input: 30, output: words }) }
}

/** Small deltas, as models send them; never half a character. */
export function splitPieces(fullText: string, size = 7): string[] {
  const characters = [...fullText]
  const parts: string[] = []
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(''))
  return parts
}

export function encodeDataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export function encodeEventFrame(value: { type: string }): string {
  return `event: ${value.type}\n${encodeDataFrame(value)}`
}

export function inputTokensOf({ usage: counted }: Scenario): number {
  return counted.input + counted.cacheRead + counted.cacheWrite + counted.cacheWrite1h
}
