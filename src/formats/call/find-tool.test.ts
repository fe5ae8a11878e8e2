import { describe, expect, test } from 'bun:test'
import { commonCapabilities, commonReasoningHistory } from '../../catalog/provider.ts'
import { wireFormats } from '../all.ts'
import type { ModelCall, Tool } from './call.ts'

const count = 2000
const names = Array.from({ length: count }, (_, index) => `tool_${index}`)

/** Tools that report each reading of their names. */
function buildTools(onRead: () => void): Tool[] {
  return names.map((name, index) => ({
    kind: index % 2 === 0 ? ('function' as const) : ('custom' as const),
    get name() {
      onRead()
      return name
    },
  }))
}

function watchNames(onRead: () => void): string[] {
  return new Proxy(names, {
    get: (list, key) => {
      onRead()
      return Reflect.get(list, key)
    },
  })
}

describe.each(['chat', 'messages', 'responses', 'gemini'] as const)('S13 a request in %s', (name) => {
  test('that names 2,000 tools in its choice and its history is encoded in linear time', () => {
    let reads = 0
    const calls = names.map((tool, index) => ({
      kind: 'tool-call' as const,
      id: `c${index}`,
      name: tool,
      arguments: '{}',
    }))
    const results = calls.map(({ id }) => ({
      kind: 'tool-result' as const,
      id,
      content: [{ kind: 'text' as const, text: 'x' }],
    }))
    const call: ModelCall = {
      messages: [
        { role: 'user', parts: [{ kind: 'text', text: 'x' }] },
        { role: 'assistant', parts: calls },
        { role: 'user', parts: results },
      ],
      tools: buildTools(() => reads++),
      toolChoice: { kind: 'allowed', required: false, names: watchNames(() => reads++) },
      stream: false,
      unknown: [],
    }
    const { upstream } = wireFormats[name]
    upstream.encodeRequest(call, {
      model: 'm',
      stream: false,
      maxOutputTokens: null,
      reasoning: null,
      signatureFormat: upstream.defaults.signatureFormat,
      reasoningHistory: commonReasoningHistory,
      unsupportedFields: new Set(),
      capabilities: new Set(commonCapabilities),
      reasoningMode: null,
      tier: null,
    })
    expect(reads).toBeGreaterThanOrEqual(count)
    expect(reads).toBeLessThan(30 * count)
  })
})
