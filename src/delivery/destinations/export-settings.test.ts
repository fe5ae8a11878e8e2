import { describe, expect, test } from 'bun:test'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import { newTimeOrderedHex, newUuid } from '../../platform/crypto/ids.ts'
import {
  applySettings,
  type ExportSettings,
  isSelected,
  needsContent,
  sharedParts,
} from './export-settings.ts'

const settings: ExportSettings = {
  id: newUuid(),
  type: 'kind',
  regions: new Set(['global']),
  keyHashes: null,
  samplingRate: 1,
  filterRules: null,
  shared: 0,
}
const facts = { id: 'gen-1', region: 'global', keyHash: 'hash', sessionId: null } as const

describe('E17 which requests a destination receives', () => {
  test.each([
    ['its region is listed', {}, {}, true],
    ['its region is not listed', { regions: new Set(['us', 'europe'] as const) }, {}, false],
    ['a region of several', { regions: new Set(['us', 'global'] as const) }, { region: 'us' as const }, true],
    ['its key is listed', { keyHashes: new Set(['hash']) }, {}, true],
    ['its key is not listed', { keyHashes: new Set(['other']) }, {}, false],
    ['the key is gone', { keyHashes: new Set(['other']) }, { keyHash: '' }, false],
  ])('%s', (_, changes: Partial<ExportSettings>, changedFacts, expected) => {
    expect(isSelected({ ...settings, ...changes }, { ...facts, ...changedFacts })).toBe(expected)
  })

  const sessions = Array.from({ length: 4000 }, () => `session-${newUuid()}`)

  test('a session is sampled as a whole', () => {
    const sampled = { ...settings, samplingRate: 0.3 }
    for (const sessionId of sessions.slice(0, 200)) {
      const decisions = ['gen-a', 'gen-b', 'gen-c'].map((id) =>
        isSelected(sampled, { ...facts, id, sessionId }),
      )
      expect(new Set(decisions).size).toBe(1)
    }
  })

  test.each([0.1, 0.5, 0.9])('a rate of %p selects about as many sessions and requests', (samplingRate) => {
    const sampled = { ...settings, samplingRate }
    const bySession = sessions.filter((sessionId) => isSelected(sampled, { ...facts, sessionId }))
    const byId = sessions.filter(() => isSelected(sampled, { ...facts, id: `gen-${newTimeOrderedHex()}` }))
    for (const { length } of [bySession, byId]) {
      expect(length / sessions.length).toBeGreaterThan(samplingRate - 0.05)
      expect(length / sessions.length).toBeLessThan(samplingRate + 0.05)
    }
  })

  test('a higher rate keeps every session of a lower one', () => {
    const select = (samplingRate: number) =>
      sessions.filter((sessionId) => isSelected({ ...settings, samplingRate }, { ...facts, sessionId }))
    const more = new Set(select(0.6))
    expect(select(0.2).every((sessionId) => more.has(sessionId))).toBe(true)
  })

  test('destinations sample independently', () => {
    const select = (id: string) =>
      sessions.map((sessionId) => isSelected({ ...settings, id, samplingRate: 0.5 }, { ...facts, sessionId }))
    expect(select(newUuid())).not.toEqual(select(newUuid()))
  })

  test.each([
    ['privacy mode', {}, false],
    ['no privacy mode', { shared: sharedParts.content }, true],
    ['a rule about the input', { filterRules: ruleAbout('input') }, true],
    ['a rule about the output', { filterRules: ruleAbout('output') }, true],
    ['a rule that is not enabled', { filterRules: { ...ruleAbout('output'), enabled: false } }, false],
    ['a rule about something else', { filterRules: ruleAbout('model') }, false],
  ])('content is needed or not: %s', (_, changes: Partial<ExportSettings>, expected) => {
    expect(needsContent({ ...settings, ...changes })).toBe(expected)
  })
})

test('R40 without content, nothing of it is left anywhere in an event', () => {
  const event = newGenerationEvent({
    input: { messages: [{ role: 'user', content: 'canary' }] },
    output: {
      completion: 'canary',
      reasoning: 'canary',
      tool_calls: [{ id: 'canary', name: 'canary', arguments: 'canary' }],
    },
    tools: { declared: 1, called: ['canary'] },
    error: { code: 'upstream_error', message: 'canary' },
    parameters: { temperature: 0.5, stop: ['canary'] },
  })
  const { content, ...others } = sharedParts
  const shared = Object.values(others).reduce((sum, part) => sum | part, 0)
  expect(JSON.stringify(applySettings(event, shared))).not.toContain('canary')
  expect(applySettings(event, shared | content)).toEqual(event)
})

function ruleAbout(field: 'input' | 'output' | 'model'): NonNullable<ExportSettings['filterRules']> {
  return { enabled: true, groups: [{ logic: 'and', rules: [{ field, operator: 'exists' }] }] }
}
