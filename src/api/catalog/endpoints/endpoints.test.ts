import { describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'

const settings = `
providers:
  - slug: local
    name: Local vLLM
    base_url: http://127.0.0.1:9001/v1
    dialects: [chat]
    data_policy: { training: false, retains: false }
models:
  - id: acme/fast-1
    name: Acme Fast 1
    context_length: 128000
    supported_parameters: [temperature, tools, tool_choice]
    endpoints:
      - { provider: local, upstream_model: fast-1, max_completion_tokens: 8192, quantization: fp8,
          pricing: { prompt: "0.000001", completion: "0.000002" } }
      - { provider: openai, upstream_model: fast, supported_parameters: [temperature],
          pricing: { prompt: "0.000003", completion: "0.000004", input_cache_read: "0.000001" } }
      - { provider: local, variant: keeping, upstream_model: fast-2, data_policy: { retains: true } }
  - id: acme/vague-1
    name: Vague
    endpoints: [{ provider: local, upstream_model: vague }]
`

describeOnEachDatabase(
  'Endpoints',
  (server) => {
    const get = async (path: string) => (await server().call('GET', path)).body

    describe('GET /models/{author}/{slug}/endpoints', () => {
      test('lists every endpoint with its own limits, prices and parameters', async () => {
        const { data } = await get('/models/acme/fast-1/endpoints')
        expect(data).toMatchObject({ id: 'acme/fast-1', name: 'Acme Fast 1', description: '' })
        expect(data.created).toBeGreaterThan(1_700_000_000)
        expect(data.architecture.output_modalities).toEqual(['text'])
        expect(data.endpoints.map((endpoint: { tag: string }) => endpoint.tag)).toEqual([
          'local',
          'openai',
          'local/keeping',
        ])
        expect(data.endpoints[0]).toEqual({
          name: 'Local vLLM | acme/fast-1',
          model_id: 'acme/fast-1',
          model_name: 'Acme Fast 1',
          provider_name: 'Local vLLM',
          tag: 'local',
          context_length: 128_000,
          max_completion_tokens: 8192,
          max_prompt_tokens: null,
          pricing: { prompt: '0.000001', completion: '0.000002' },
          quantization: 'fp8',
          status: 0,
          supported_parameters: ['temperature', 'tools', 'tool_choice'],
          supports_implicit_caching: false,
          supports_voice_cloning: false,
          supports_tool_choice: { auto: true, none: true, required: true, function: true },
          latency_last_30m: null,
          throughput_last_30m: null,
          uptime_last_5m: null,
          uptime_last_30m: null,
          uptime_last_1d: null,
          perf_last_30m_by_workload: {
            text_generation: { latency: null, throughput: null, request_count: 0 },
          },
        })
        expect(data.endpoints[1]).toMatchObject({
          status: -1,
          supports_implicit_caching: true,
          supports_tool_choice: { auto: false, function: false },
        })
      })

      test('what is not known is null, 0 or -1, never made up', async () => {
        const [endpoint] = (await get('/models/acme/vague-1/endpoints')).data.endpoints
        expect(endpoint).toMatchObject({
          context_length: 0,
          max_completion_tokens: null,
          quantization: null,
          pricing: { prompt: '-1', completion: '-1' },
        })
      })

      test('finds a model by all its names, and returns 404 for none', async () => {
        expect((await get('/models/acme/fast-1:nitro/endpoints')).data.id).toBe('acme/fast-1')
        expect((await get('/models/~acme/fast-latest/endpoints')).data.id).toBe('~acme/fast-latest')
        expect((await server().call('GET', '/models/acme/slow-1/endpoints')).status).toBe(404)
        expect((await server().call('GET', '/models/acme/fast-1/endpoints', { key: null })).status).toBe(401)
      })
    })

    test('GET /endpoints/zdr lists exactly the endpoints that keep nothing', async () => {
      const { data } = await get('/endpoints/zdr')
      const ours = data.filter((endpoint: { model_id: string }) => endpoint.model_id.startsWith('acme/'))
      expect(ours.map((endpoint: { tag: string }) => endpoint.tag)).toEqual(['local', 'local'])
      const names = new Set(data.map((endpoint: { provider_name: string }) => endpoint.provider_name))
      expect(names).toContain('Sandbox (simulated)')
      expect(names).not.toContain('OpenAI')
    })
  },
  { settings },
)
