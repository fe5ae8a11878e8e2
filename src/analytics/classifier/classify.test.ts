import { describe, expect, test } from 'bun:test'
import type { ModelCall } from '../../formats/call/call.ts'
import { classifySample, classifyTask } from './classify.ts'
import { measureAccuracy, shareOf } from './corpus/accuracy.ts'
import { readCorpus } from './corpus/corpus.ts'
import { samplePrompt } from './prompt-sample.ts'
import { formSignals } from './signals.ts'
import { taskTags } from './tasks.ts'
import weights from './weights.json'
import common from './words/common.json'
import german from './words/de.json'
import english from './words/en.json'
import spanish from './words/es.json'
import french from './words/fr.json'

function callOf(text: string, options: Partial<ModelCall> = {}): ModelCall {
  return {
    messages: [{ role: 'user', parts: [{ kind: 'text', text }] }],
    stream: false,
    unknown: [],
    ...options,
  }
}

describe('accuracy', () => {
  const heldOut = readCorpus('held-out')

  test('of prompts it was not tuned on, nine tenths of the kinds of work and most tasks are recognised', () => {
    const { tags, macros, categories, byLanguage } = measureAccuracy(heldOut)
    expect(shareOf(macros)).toBeGreaterThan(0.9)
    expect(shareOf(tags)).toBeGreaterThan(0.85)
    expect(shareOf(categories)).toBeGreaterThan(0.85)
    for (const hits of byLanguage.values()) expect(shareOf(hits)).toBeGreaterThan(0.75)
  })

  test('every task has prompts in both sets, and no prompt is in both', () => {
    const dev = readCorpus('dev')
    for (const tag of taskTags) {
      for (const prompts of [dev, heldOut])
        expect(prompts.filter((prompt) => prompt.tag === tag).length).toBeGreaterThan(3)
    }
    const seen = new Set(dev.map(({ sample }) => JSON.stringify(sample)))
    expect(heldOut.filter(({ sample }) => seen.has(JSON.stringify(sample)))).toEqual([])
  })

  test('the word lists of all languages have the same concepts, and weights name only known signals', () => {
    const concepts = Object.keys(english).sort()
    for (const list of [german, french, spanish]) expect(Object.keys(list).sort()).toEqual(concepts)
    const words = [common, english, german, french, spanish].flatMap((list) =>
      Object.values(list).flatMap((entries) => entries.split(' ')),
    )
    const known = new Set<string>([...concepts, ...Object.keys(common), ...formSignals])
    const signals = Object.values(weights).flatMap((ofTask) => Object.keys(ofTask))
    expect(signals.flatMap((names) => names.split('&')).filter((name) => !known.has(name))).toEqual([])
    expect(words.filter((word) => !/^[a-z0-9&+#_]+\*?$/.test(word))).toEqual([])
  })
})

describe('classification of a call', () => {
  test('has task, kind of work, language and subject', () => {
    expect(classifyTask(callOf('Why does my Python function crash with a KeyError? Please fix it.'))).toEqual(
      {
        tag: 'code:debugging',
        macro: 'code',
        language: 'programming',
        category: 'programming',
        confidence: expect.any(Number),
      },
    )
    expect(classifyTask(callOf('Summarize the liability clauses of this contract.'))).toMatchObject({
      tag: 'data:summarization',
      language: 'natural',
      category: 'legal',
    })
  })

  test('is `other` where nothing is recognised', () => {
    for (const text of ['', 'zzz', '🙂', '\0'.repeat(50)])
      expect(classifyTask(callOf(text))).toMatchObject({ tag: 'other', macro: null, confidence: 0 })
    expect(classifyTask({ messages: [], stream: false, unknown: [] }).tag).toBe('other')
  })

  test('reads the last message of the user that has text, and the tools', () => {
    const tools: ModelCall['tools'] = [
      { kind: 'function', name: 'edit_file' },
      { kind: 'function', name: 'bash' },
    ]
    const call = callOf('Rename the option.', { tools })
    call.messages.push(
      { role: 'assistant', parts: [{ kind: 'tool-call', id: '1', name: 'bash', arguments: '{}' }] },
      { role: 'user', parts: [{ kind: 'tool-result', id: '1', content: [{ kind: 'text', text: 'done' }] }] },
    )
    expect(samplePrompt(call).userStart).toBe('Rename the option.')
    expect(classifyTask(call).tag).toBe('agent:coding')
  })

  test('does not read more of a long prompt than of a short one', () => {
    const material = 'The ship left the harbour in the morning. '
    const long = callOf(`Translate this into German:\n${material.repeat(200_000)}`)
    const { userStart, userEnd, system } = samplePrompt(long)
    expect(userStart.length + userEnd.length + system.length).toBeLessThan(3000)
    expect(classifyTask(long).tag).toBe('general:translation')
    const many = callOf('x')
    many.messages = Array.from({ length: 100_000 }, () => ({ role: 'assistant' as const, parts: [] }))
    expect(classifyTask(many).tag).toBe('other')
    const atEnd = callOf(`${material.repeat(5000)}\nSummarize the text above in three sentences.`)
    expect(classifyTask(atEnd).tag).toBe('data:summarization')
  })

  test('is the same every time', () => {
    for (const { sample } of readCorpus('held-out')) {
      const first = classifySample(sample)
      expect(classifySample(sample)).toEqual(first)
      expect(first.confidence).toBeWithin(0, 1.000001)
    }
  })
})
