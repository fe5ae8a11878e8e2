import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../test/formats/conformance/targets.ts'
import type { JsonObject } from '../platform/json/json-values.ts'
import { wireFormats } from './all.ts'
import { resolveReasoning } from './reasoning-options.ts'
import type { Target } from './wire-format.ts'

const efforts = { efforts: ['high', 'medium', 'low', 'none'], budget: false }
const budget = { efforts: null, budget: true }

describe('resolved reasoning options', () => {
  const at = (reasoningMode: Target['reasoningMode'], reasoning: Target['reasoning'] = efforts) => ({
    reasoningMode,
    reasoning,
  })

  test('stay unchanged where the request decides', () => {
    for (const options of [undefined, { enabled: false }, { effort: 'high' as const }]) {
      expect(resolveReasoning(options, at(null))).toBe(options as never)
    }
  })

  test('enable reasoning by default, unless the request says otherwise', () => {
    expect(resolveReasoning(undefined, at('default'))).toEqual({ enabled: true })
    expect(resolveReasoning({ exclude: true }, at('default'))).toEqual({ exclude: true, enabled: true })
    for (const options of [
      { enabled: false },
      { effort: 'none' as const },
      { maxTokens: 0 },
      { effort: 'low' as const },
    ]) {
      expect(resolveReasoning(options, at('default'))).toBe(options)
    }
  })

  test.each([{ enabled: false }, { effort: 'none' as const }, { maxTokens: 0 }])(
    'use the minimum where reasoning cannot be disabled: %j',
    (off) => {
      expect(resolveReasoning(off, at('always'))).toEqual({ effort: 'low' })
      expect(resolveReasoning({ ...off, exclude: true }, at('always', budget))).toEqual({
        exclude: true,
        maxTokens: 1024,
      })
      expect(resolveReasoning(off, at('always', { efforts: null, budget: false }))).toBeUndefined()
    },
  )
})

describe('reasoning options of a request that passes in its own format', () => {
  const chat = { messages: [{ role: 'user', content: 'Hello' }] }
  const messages = { max_tokens: 4000, messages: [{ role: 'user', content: 'Hello' }] }
  const gemini = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }
  const pass = (name: keyof typeof wireFormats, body: JsonObject, target: Partial<Target>) =>
    wireFormats[name].passthrough.passRequest(body, createTarget(name, target)).body
  const enabled = { reasoningMode: 'default', reasoning: efforts } as const
  const enabledByBudget = { reasoningMode: 'default', reasoning: budget } as const
  const always = { reasoningMode: 'always', reasoning: efforts } as const

  test('chat', () => {
    expect(pass('chat', chat, enabled).reasoning_effort).toBe('medium')
    expect(pass('chat', { ...chat, reasoning_effort: 'high' }, enabled).reasoning_effort).toBe('high')
    expect(pass('chat', { ...chat, reasoning: { enabled: false } }, enabled).reasoning_effort).toBe('none')
    expect(pass('chat', { ...chat, reasoning_effort: 'none' }, always).reasoning_effort).toBe('low')
  })

  test('responses', () => {
    const body = { input: 'Hello' }
    expect(pass('responses', body, enabled).reasoning).toEqual({ effort: 'medium' })
    expect(pass('responses', { ...body, reasoning: { summary: 'auto' } }, enabled).reasoning).toEqual({
      summary: 'auto',
      effort: 'medium',
    })
    expect(pass('responses', { ...body, reasoning: { effort: 'none' } }, enabled).reasoning).toEqual({
      effort: 'none',
    })
    expect(pass('responses', { ...body, reasoning: { effort: 'none' } }, always).reasoning).toEqual({
      effort: 'low',
    })
    expect(pass('responses', body, { reasoningMode: null }).reasoning).toBeUndefined()
  })

  test('messages', () => {
    expect(pass('messages', messages, enabledByBudget).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 2000,
    })
    expect(pass('messages', messages, enabled)).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
    })
    const off = { ...messages, thinking: { type: 'disabled' } }
    expect(pass('messages', off, enabledByBudget).thinking).toEqual({ type: 'disabled' })
    expect(pass('messages', off, always).thinking).toBeUndefined()
    const others = [{ temperature: 0.2 }, { top_k: 5 }, { top_p: 0.5 }, { tool_choice: { type: 'any' } }]
    for (const more of others) {
      expect(pass('messages', { ...messages, ...more }, enabledByBudget).thinking).toBeUndefined()
    }
  })

  test('gemini', () => {
    const config = (body: JsonObject, target: Partial<Target>) =>
      pass('gemini', body, target).generationConfig
    expect(config(gemini, enabled)).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: 'medium' },
    })
    const limited = { ...gemini, generationConfig: { maxOutputTokens: 4000 } }
    expect(config(limited, enabledByBudget)).toEqual({
      maxOutputTokens: 4000,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 },
    })
    const off = { ...gemini, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }
    expect(config(off, enabled)).toEqual({ thinkingConfig: { thinkingBudget: 0 } })
    expect(config(off, { reasoningMode: 'always', reasoning: budget })).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 },
    })
  })
})
