import { beforeEach, expect, test } from 'bun:test'
import { greyPixelPng } from '../../src/catalog/providers/sandbox/media.ts'
import { clearGenerations, waitForGenerations } from '../inference/two-upstreams.ts'
import { inputAudio, speakWav } from '../support/recordings.ts'
import { describeMedia } from './support.ts'

const image = {
  supported_parameters: { n: { type: 'range', min: 1, max: 2 } },
  allowed_passthrough_parameters: [],
  supports_streaming: true,
  pricing: [{ billable: 'output_image', unit: 'image', cost_usd: '0.01' }],
}
const models = [
  {
    name: 'image',
    wireFormat: 'images',
    fields: { output_modalities: ['image'], image },
    endpoint: {},
    other: {},
  },
]

const ways: [string, boolean][] = [
  ['whole', false],
  ['streamed', true],
]

describeMedia('content of media requests', models, (bench) => {
  const server = () => bench().server

  beforeEach(async () => {
    await clearGenerations(bench())
    const body = { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 }
    await server().call('PATCH', `/workspaces/${server().own.workspace.id}`, { body })
  })

  /** The content of the one generation there is. */
  async function send(path: string, body: object) {
    const response = await fetch(`${server().url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server().own.inferenceKey}` },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    const [row] = await waitForGenerations(bench(), 1)
    return (await server().call('GET', `/generation/content?id=${row?.id}`)).body.data
  }

  test.each(ways)('%s: a transcript is logged, but not its recording', async (_, stream) => {
    const said = 'Hello big world. How are you?'
    const input_audio = inputAudio(speakWav(said))
    const body = { model: 'sandbox/listener', prompt: 'A greeting', stream, input_audio }
    expect(await send('/audio/transcriptions', body)).toEqual({
      input: { prompt: 'A greeting' },
      output: { completion: said, reasoning: null, tool_calls: [] },
      error: null,
      truncated: false,
    })
  })

  test.each([false, true])(
    'revised prompts are logged, but not the images (streamed: %s)',
    async (stream) => {
      const revised = ['A large red kite', 'A small red kite']
      const data = revised.map((revised_prompt) => ({ b64_json: greyPixelPng, revised_prompt }))
      bench().first.enqueue({ json: { created: 1, data } })
      const body = { model: 'test/image', prompt: 'A red kite', n: 2, stream }
      const { input, output } = await send('/images', body)
      expect(input).toEqual({ prompt: 'A red kite' })
      expect(output.completion).toBe(revised.join('\n\n'))
    },
  )

  test('the spoken text is logged, but not the audio', async () => {
    const body = { model: 'sandbox/speaker', input: 'Hello', response_format: 'wav' }
    expect(await send('/audio/speech', body)).toMatchObject({
      input: { messages: [{ role: 'user', content: 'Hello' }] },
      output: { completion: null },
    })
  })
})
