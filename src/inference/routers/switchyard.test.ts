import { describe, expect, test } from 'bun:test'
import type { Message } from '../../formats/call/call.ts'
import {
  buildJudgeCall,
  isHumanTurn,
  parseJudgment,
  readStageSignals,
  type SwitchyardAlgorithm,
  type SwitchyardQuery,
  selectSwitchyard,
  type Tier,
} from './switchyard.ts'

const models = { weak: ['a/small'], strong: ['a/large', 'a/huge'] }

function human(text = 'Fix the bug.'): Message {
  return { role: 'user', parts: [{ kind: 'text', text }] }
}

function toolTurns(...results: { name: string; text?: string; isError?: boolean }[]): Message[] {
  return results.flatMap(({ name, text = 'done', isError }, index): Message[] => [
    { role: 'assistant', parts: [{ kind: 'tool-call', id: `c${index}`, name, arguments: '{}' }] },
    {
      role: 'user',
      parts: [
        {
          kind: 'tool-result',
          id: `c${index}`,
          content: [{ kind: 'text', text }],
          ...(isError !== undefined && { isError }),
        },
      ],
    },
  ])
}

const ok = { name: 'read_file' }
const edit = { name: 'edit_file' }
const failing = { name: 'run', isError: true }

function select(algorithm: SwitchyardAlgorithm, messages: Message[], facts: Partial<SwitchyardQuery> = {}) {
  return selectSwitchyard({
    algorithm,
    call: { messages },
    models,
    remembered: null,
    random: () => 0.5,
    judge: () => Promise.reject(new Error('the judge must not be asked')),
    ...facts,
  })
}

const judged = (tier: Tier | null) => ({ judge: async () => tier })

describe('stage signals', () => {
  test('failures one after another need the capable tier, edits without failures the cheap one', () => {
    const tierOf = (...results: { name: string; text?: string; isError?: boolean }[]) =>
      readStageSignals({ messages: [human(), ...toolTurns(...results)] }).tier
    expect(tierOf(ok, failing, failing)).toBe('strong')
    expect(tierOf(failing, ok, failing, ok)).toBe('strong')
    expect(tierOf(ok, edit, ok)).toBe('weak')
    expect(tierOf(ok, ok, ok)).toBeNull()
    expect(tierOf(edit, edit)).toBeNull()
    expect(tierOf(edit, failing, ok, ok, ok)).toBeNull()
  })

  test('a result without a flag failed if its text says so', () => {
    const traceback = { name: 'run', text: 'Traceback (most recent call last):\n...' }
    const exit = { name: 'run', text: 'tests: 3 failed\nexited with code 1' }
    expect(readStageSignals({ messages: toolTurns(ok, traceback, exit) }).tier).toBe('strong')
    const mention = { name: 'edit', text: 'The file error.ts has no errors.' }
    expect(readStageSignals({ messages: toolTurns(mention, mention, mention) }).tier).toBe('weak')
  })
})

describe('algorithms', () => {
  test('capability asks the judge on every turn', async () => {
    expect(await select('capability', [human()], judged('weak'))).toMatchObject({
      models: ['a/small', 'a/large', 'a/huge'],
      data: { tier: 'weak', judged: true },
    })
    expect(await select('capability', [human()], judged('strong'))).toMatchObject({
      models: ['a/large', 'a/huge', 'a/small'],
    })
    expect((await select('capability', [human()], judged(null))).models[0]).toBe('a/large')
    expect((await select('capability', [human()], { judge: null })).reason).toContain('quote')
  })

  test('stage asks the judge only if the signals are undecided; auto never does', async () => {
    const decided = [human(), ...toolTurns(ok, failing, failing)]
    expect((await select('stage', decided)).models[0]).toBe('a/large')
    expect((await select('stage', [human()], judged('weak'))).models[0]).toBe('a/small')
    expect((await select('auto', [human()])).models[0]).toBe('a/small')
    expect((await select('auto', decided)).models[0]).toBe('a/large')
  })

  test('composite keeps the tier of the human turn until the signals are decisive', async () => {
    const undecided = [human(), ...toolTurns(ok)]
    expect((await select('composite', undecided, { remembered: 'strong' })).models[0]).toBe('a/large')
    const going = [human(), ...toolTurns(ok, edit, ok)]
    expect((await select('composite', going, { remembered: 'strong' })).models[0]).toBe('a/small')
    expect(
      (await select('composite', [human()], { ...judged('weak'), remembered: 'strong' })).models[0],
    ).toBe('a/small')
  })

  test('random draws one of all, passthrough keeps the order', async () => {
    expect((await select('random', [human()])).models).toEqual(['a/large', 'a/small', 'a/huge'])
    expect((await select('random', [human()], { random: () => 0.99 })).models[0]).toBe('a/huge')
    expect((await select('passthrough', [human()])).models).toEqual(['a/small', 'a/large', 'a/huge'])
  })
})

describe('judge', () => {
  test('it sees the last text of the user, bounded, and answers with a number', () => {
    const call = buildJudgeCall({ messages: [human('x'.repeat(10_000)), ...toolTurns(ok)] })
    expect(JSON.stringify(call).length).toBeLessThan(8000)
    expect(call.messages[1]?.parts[0]).toMatchObject({ text: expect.stringContaining('xxx') })
    expect(['0', '5', '6', '10', 'Rating: 8.', '4.5', 'hard', ''].map(parseJudgment)).toEqual([
      'weak',
      'weak',
      'strong',
      'strong',
      'strong',
      'weak',
      null,
      null,
    ])
  })

  test('the results of tools are not a human turn', () => {
    expect(isHumanTurn({ messages: [human()] })).toBe(true)
    expect(isHumanTurn({ messages: [human(), ...toolTurns(ok)] })).toBe(false)
    expect(isHumanTurn({ messages: [] })).toBe(true)
  })
})
