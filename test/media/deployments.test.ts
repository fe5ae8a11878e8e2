import { describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { describeWithUpstreams, lastRequest } from '../inference/two-upstreams.ts'
import { inputAudio, silentWav } from '../support/recordings.ts'
import { audioReply, mp3Frames } from './speech-upstreams.ts'

const buildSettings = (first: string, second: string) =>
  JSON.stringify({
    egress: { allow_private: [first.replace('http://', '')] },
    providers: [{ slug: 'azure', base_url: second }],
  })

const usage = { prompt_tokens: 1, total_tokens: 1 }
const embedding = { object: 'embedding', index: 0, embedding: [0.6, 0.8] }
const tasks = [
  {
    path: '/embeddings',
    model: 'openai/text-embedding-3-small',
    body: { input: 'a' },
    reply: { json: { object: 'list', data: [embedding], usage } },
  },
  {
    path: '/images/generations',
    model: 'openai/gpt-image-1-mini',
    body: { prompt: 'a' },
    reply: { json: { created: 1, data: [{ b64_json: greyPixelPng }] } },
  },
  {
    path: '/audio/speech',
    model: 'openai/gpt-4o-mini-tts',
    body: { input: 'a', voice: 'alloy', response_format: 'mp3' },
    reply: audioReply(mp3Frames(2)),
  },
  {
    path: '/audio/transcriptions',
    model: 'openai/whisper-1',
    body: { input_audio: inputAudio(silentWav(1)) },
    reply: { json: { text: 'a' } },
  },
]

describeWithUpstreams(
  'a BYOK deployment',
  (bench) => {
    const server = () => bench().server

    describe.each(tasks)('for $path', ({ path, model, body, reply }) => {
      test('is called at its own address, by its own name, with its own key', async () => {
        const endpoint_url = `${bench().first.url}/openai/deployments/mine${path}?api-version=2025-04-01`
        const key = [{ model_slug: model, endpoint_url, api_key: 'deployment-key', model_id: 'mine' }]
        const saved = await server().call('POST', '/byok', {
          body: { provider: 'azure', key: JSON.stringify(key) },
        })
        expect(saved.status).toBe(201)
        bench().first.enqueue(reply)
        const response = await fetch(`${server().url}/v1${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${server().own.inferenceKey}` },
          body: JSON.stringify({ model, ...body, provider: { only: ['azure'] } }),
        })
        expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, ''])
        await response.arrayBuffer()
        await server().call('DELETE', `/byok/${saved.body.data.id}`)
        const sent = lastRequest(bench().first.requests)
        expect(sent.path).toBe(`/openai/deployments/mine${path}`)
        expect(sent.headers['api-key']).toBe('deployment-key')
        expect(sent.text).toMatch(/"model":"mine"|name="model"\r\n\r\nmine\r/)
        expect(bench().second.requests).toHaveLength(0)
      })
    })
  },
  buildSettings,
)
