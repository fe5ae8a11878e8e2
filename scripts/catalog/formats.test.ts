import { expect, test } from 'bun:test'
import { providers } from '../../src/catalog/providers/all.ts'
import { chooseFormats } from './formats.ts'

const findProvider = (slug: string) => {
  const provider = providers.find((candidate) => candidate.slug === slug)
  if (!provider) throw new Error(`there is no provider ${slug}`)
  return provider
}

test('a text model inherits the formats of its provider', () => {
  expect(chooseFormats(findProvider('openai'), 'openai/gpt-4o', ['text'], false)).toEqual({ missing: [] })
})

test.each([
  ['openai', 'openai/gpt-5-pro', ['text'], true, ['responses']],
  ['openai', 'openai/text-embedding-3-small', ['embeddings'], false, ['embeddings']],
  ['openai', 'openai/gpt-image-1', ['image'], false, ['images']],
  ['openai', 'openai/tts-1', ['speech'], false, ['speech']],
  ['google-vertex', 'google/gemini-2.5-pro', ['text'], false, ['gemini']],
  ['google-vertex', 'anthropic/claude-opus-5', ['text'], false, ['messages']],
  ['google-vertex', 'meta-llama/llama-4-scout', ['text'], false, ['chat']],
  ['amazon-bedrock', 'anthropic/claude-opus-5', ['text'], false, ['messages']],
  ['amazon-bedrock', 'openai/gpt-oss-120b', ['text'], false, ['chat']],
  ['amazon-bedrock', 'amazon/nova-pro-v1', ['text'], false, ['converse']],
] as const)('%s serves %s (%p) in one format', (slug, id, output, isResponsesOnly, wireFormats) => {
  expect(chooseFormats(findProvider(slug), id, output, isResponsesOnly)).toEqual({
    wireFormats: [...wireFormats],
    missing: [],
  })
})

test('of two formats of a task, the one that the provider serves the model in', () => {
  const google = {
    ...findProvider('google-ai-studio'),
    wireFormats: ['gemini', 'imagen', 'gemini-images'] as const,
  }
  const choose = (id: string, output: string[]) =>
    chooseFormats({ ...google, wireFormats: [...google.wireFormats] }, id, output, false).wireFormats
  expect(choose('google/imagen-4', ['image'])).toEqual(['imagen'])
  expect(choose('google/gemini-3-pro-image', ['image', 'text'])).toEqual(['gemini', 'gemini-images'])
})

test('a task without a format is named', () => {
  const provider = { ...findProvider('xai'), wireFormats: ['chat' as const] }
  expect(chooseFormats(provider, 'x-ai/grok-imagine-video', ['video'], false)).toEqual({
    missing: ['video at xai'],
  })
})
