import { describe, expect, test } from 'bun:test'
import { candidateNames } from './candidates.ts'
import { clientFormatNames } from './client-formats.ts'
import { upstreamFormatNames } from './requests.ts'
import { defaultCandidates, selectRows, separateRows } from './rows.ts'
import { buildScenarios, quick } from './scenarios.ts'

const rows = [...buildScenarios(quick), ...separateRows]
const select = (...names: string[]) => selectRows(rows, names).map(({ id }) => id)

describe('the rows of the benchmark', () => {
  test('are selected by id, or by a part of the title', () => {
    expect(select('small')).toEqual(['small'])
    expect(select('1 KB')).toEqual(['small'])
    expect(select('chat-over-gemini')).toEqual(['chat-over-gemini'])
    expect(select('OVER GEMINI')).toEqual(['chat-over-gemini', 'chat-over-gemini-event'])
    expect(select('allocations', 'prompt')).toEqual(['prompt', 'allocations'])
    expect(select()).toHaveLength(rows.length)
    expect(() => select('nothing like it')).toThrow('--list')
  })

  test('have distinct ids, and cover every client and every upstream format', () => {
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    const translations = buildScenarios(quick).flatMap(({ spec }) => spec.translation ?? [])
    expect(translations.filter(({ client, upstream }) => client === upstream)).toEqual([])
    expect(new Set(translations.map(({ client }) => client))).toEqual(new Set(clientFormatNames))
    expect(new Set(translations.map(({ upstream }) => upstream))).toEqual(new Set(upstreamFormatNames))
  })

  test('each have a candidate to compare with, and each candidate has a row', () => {
    const scenarios = buildScenarios(quick)
    expect(scenarios.filter(({ candidates }) => !candidates.includes('relay'))).toEqual([])
    const unused = candidateNames.filter(
      (name) => !scenarios.some(({ candidates }) => candidates.includes(name)),
    )
    expect(unused).toEqual([])
  })

  test('need few candidates when some rows are selected or two checkouts compared', () => {
    const choose = (isComparison: boolean, hasSelection: boolean) =>
      defaultCandidates(candidateNames, { isComparison, hasSelection })
    expect(choose(false, true)).toEqual(['direct', 'relay', 'headgate'])
    expect(choose(true, true)).toEqual(['headgate', 'against'])
    expect(choose(false, false)).not.toContain('against')
  })
})
