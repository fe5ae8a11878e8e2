import { expect, test } from 'bun:test'
import { anthropicList } from './anthropic.ts'
import { bedrockList } from './bedrock.ts'
import { geminiList } from './gemini.ts'
import { lmStudioList } from './lm-studio.ts'
import { openaiList } from './openai.ts'
import { vertexList } from './vertex.ts'

test('OpenAI and vLLM', () => {
  expect(openaiList.buildUrl('http://127.0.0.1:8000/v1', null)).toBe('http://127.0.0.1:8000/v1/models')
  const permission = [{ id: 'modelperm-1', object: 'model_permission', allow_sampling: true }]
  const body = {
    object: 'list',
    data: [
      { id: 'gpt-4o', object: 'model', created: 1715367049, owned_by: 'system' },
      {
        id: 'meta-llama/Llama-3.1-8B',
        object: 'model',
        owned_by: 'vllm',
        root: 'r',
        parent: null,
        max_model_len: 32768,
        permission,
      },
      { object: 'model' },
    ],
  }
  expect(openaiList.decode(body, null)).toEqual({
    models: [{ id: 'gpt-4o' }, { id: 'meta-llama/Llama-3.1-8B', context_length: 32768 }],
    next: null,
  })
})

test('OpenRouter, with prices: zero beside tokens is no price of its own, and -1 is none', () => {
  const entry = {
    id: 'acme/fast',
    name: 'Acme: Fast',
    created: 1741818122,
    context_length: 128000,
    architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'], tokenizer: 'GPT' },
    top_provider: { is_moderated: true, context_length: 128000, max_completion_tokens: 16384 },
    pricing: {
      prompt: '0.0000007',
      completion: '0.0000014',
      image: '0',
      request: '0',
      web_search: '0',
      internal_reasoning: '0',
      input_cache_read: '0.00000007',
    },
    supported_parameters: ['tools'],
  }
  const auto = { id: 'acme/auto', pricing: { prompt: '-1', completion: '-1' } }
  expect(openaiList.decode({ data: [entry, auto] }, null).models).toEqual([
    {
      id: 'acme/fast',
      name: 'Acme: Fast',
      context_length: 128000,
      max_completion_tokens: 16384,
      input_modalities: ['text', 'image'],
      output_modalities: ['text'],
      pricing: { prompt: '0.0000007', completion: '0.0000014', input_cache_read: '0.00000007' },
    },
    { id: 'acme/auto' },
  ])
})

test('LM Studio', () => {
  expect(lmStudioList.buildUrl('http://127.0.0.1:1234/v1', null)).toBe('http://127.0.0.1:1234/api/v0/models')
  const data = [
    {
      id: 'qwen2-vl-7b-instruct',
      object: 'model',
      type: 'vlm',
      publisher: 'mlx-community',
      quantization: '4bit',
      state: 'not-loaded',
      max_context_length: 32768,
    },
    {
      id: 'text-embedding-nomic-embed-text-v1.5',
      object: 'model',
      type: 'embeddings',
      max_context_length: 2048,
    },
  ]
  expect(lmStudioList.decode({ object: 'list', data }, null).models).toEqual([
    { id: 'qwen2-vl-7b-instruct', context_length: 32768, input_modalities: ['text', 'image'] },
    { id: 'text-embedding-nomic-embed-text-v1.5', context_length: 2048, output_modalities: ['embeddings'] },
  ])
})

test('the Messages and Gemini APIs, by pages', () => {
  expect(anthropicList.buildUrl('https://a.example/v1', 'claude x')).toEndWith(
    'limit=1000&after_id=claude%20x',
  )
  const data = [
    { type: 'model', id: 'claude-next', display_name: 'Claude Next', created_at: '2026-01-01T00:00:00Z' },
  ]
  expect(anthropicList.decode({ data, has_more: true, last_id: 'claude-next' }, null)).toEqual({
    models: [{ id: 'claude-next', name: 'Claude Next' }],
    next: 'claude-next',
  })
  const models = [
    {
      name: 'models/gemini-2.0-flash',
      displayName: 'Gemini 2.0 Flash',
      inputTokenLimit: 1048576,
      outputTokenLimit: 8192,
      supportedGenerationMethods: ['generateContent'],
    },
    { name: 'models/embedding-001', supportedGenerationMethods: ['embedContent'] },
  ]
  expect(geminiList.decode({ models, nextPageToken: 't' }, null)).toEqual({
    models: [
      {
        id: 'gemini-2.0-flash',
        name: 'Gemini 2.0 Flash',
        context_length: 1048576,
        max_completion_tokens: 8192,
      },
    ],
    next: 't',
  })
})

test('Bedrock lists at its control plane, and models without on-demand use have the profile of the region', () => {
  expect(bedrockList.buildUrl('https://bedrock-runtime.us-west-2.amazonaws.com', null)).toBe(
    'https://bedrock.us-west-2.amazonaws.com/foundation-models',
  )
  const summary = {
    providerName: 'P',
    inputModalities: ['TEXT', 'IMAGE'],
    outputModalities: ['TEXT'],
    responseStreamingSupported: true,
    modelLifecycle: { status: 'ACTIVE' },
  }
  const modelSummaries = [
    {
      ...summary,
      modelId: 'amazon.nova-lite-v1:0',
      modelName: 'Nova Lite',
      inferenceTypesSupported: ['ON_DEMAND'],
    },
    {
      ...summary,
      modelId: 'anthropic.claude-next-v1:0',
      modelName: 'Claude Next',
      inferenceTypesSupported: ['INFERENCE_PROFILE'],
    },
    { ...summary, modelId: 'amazon.titan-embed-text-v2:0', outputModalities: ['EMBEDDING'] },
  ]
  expect(bedrockList.decode({ modelSummaries }, null).models).toEqual([
    { id: 'amazon.nova-lite-v1:0', name: 'Nova Lite', input_modalities: ['text', 'image'] },
    { id: 'regional.anthropic.claude-next-v1:0', name: 'Claude Next', input_modalities: ['text', 'image'] },
  ])
})

test('Vertex lists publisher after publisher', () => {
  const base = 'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1'
  const host = 'https://us-central1-aiplatform.googleapis.com/v1beta1/publishers'
  expect(vertexList.buildUrl(base, null)).toBe(`${host}/google/models?pageSize=100`)
  const google = [
    { name: 'publishers/google/models/gemini-3.5-flash', versionId: 'default' },
    { name: 'publishers/google/models/text-embedding-005' },
  ]
  const first = vertexList.decode({ publisherModels: google, nextPageToken: 'page-2' }, null)
  expect(first).toEqual({ models: [{ id: 'gemini-3.5-flash' }], next: 'publishers/google page-2' })
  expect(vertexList.buildUrl(base, first.next)).toBe(`${host}/google/models?pageSize=100&pageToken=page-2`)
  const last = vertexList.decode({ publisherModels: [] }, first.next)
  expect(vertexList.buildUrl(base, last.next)).toBe(`${host}/anthropic/models?pageSize=100`)
  const claude = { name: 'publishers/anthropic/models/claude-next', versionId: '20260101' }
  expect(vertexList.decode({ publisherModels: [claude] }, last.next)).toEqual({
    models: [{ id: 'claude-next@20260101' }],
    next: null,
  })
})
