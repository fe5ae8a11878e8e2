import { expect, test } from 'bun:test'
import { lastRequest, readJson } from '../inference/two-upstreams.ts'
import { audioReply, describeSpeech, mp3Frames, readBytes, sendSpeech } from './speech-upstreams.ts'

describeSpeech('speech over other wire formats', (bench) => {
  const secret = 'vendor-secret-0123456789'

  test('ElevenLabs', async () => {
    const frames = mp3Frames(3)
    bench().first.enqueue(audioReply(frames))
    const response = await sendSpeech(bench(), { model: 'speech/elevenlabs', voice: 'JBFqnCBsd6RMkjVDRZzb' })
    expect(await readBytes(response)).toEqual(Buffer.concat(frames))
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream',
      query: 'output_format=mp3_44100_128',
      headers: { 'xi-api-key': secret },
      json: { text: 'Hello', model_id: 'tts-1' },
    })
  })

  test('Deepgram', async () => {
    const samples = Buffer.from([1, 0, 2, 0, 3, 0])
    bench().first.enqueue(audioReply([samples], { headers: { 'content-type': 'audio/l16;rate=48000' } }))
    const provider = { options: { deep: { mip_opt_out: true, callback: 'https://example.com' } } }
    const body = { model: 'speech/deepgram', voice: 'thalia-en', response_format: 'pcm', provider }
    const response = await sendSpeech(bench(), body)
    expect(response.headers.get('content-type')).toBe('audio/pcm;rate=48000;channels=1')
    expect(response.headers.get('x-headgate-dropped')).toBe('provider.options.deep.callback')
    expect(await readBytes(response)).toEqual(samples)
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/speak',
      query: 'model=aura-2-thalia-en&encoding=linear16&container=none&sample_rate=24000&mip_opt_out=true',
      headers: { authorization: `Token ${secret}` },
      json: { text: 'Hello' },
    })
    bench().first.enqueue({ status: 400, json: { err_code: 'Bad Request', err_msg: 'Unknown model.' } })
    const refused = await sendSpeech(bench(), body)
    expect(refused.status).toBe(400)
    expect((await readJson(refused)).error.message).toBe('Unknown model.')
  })

  test('R9 Gemini, billed by the tokens it reports', async () => {
    const samples = Buffer.from([1, 0, 2, 0])
    const inlineData = { mimeType: 'audio/L16;codec=pcm;rate=24000', data: samples.toString('base64') }
    bench().first.enqueue({
      json: {
        candidates: [{ content: { parts: [{ inlineData }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 67, totalTokenCount: 76 },
      },
    })
    const body = { model: 'speech/gemini', voice: 'Puck', response_format: 'wav', speed: 2 }
    const response = await sendSpeech(bench(), body)
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(response.headers.get('x-headgate-dropped')).toBe('speed')
    expect((await readBytes(response)).subarray(44)).toEqual(samples)
    expect(lastRequest(bench().first.requests)).toMatchObject({
      path: '/models/tts-1:generateContent',
      headers: { 'x-goog-api-key': secret },
    })
    const id = response.headers.get('x-generation-id')
    const found = await bench().server.call('GET', `/generation?id=${id}`, {
      key: bench().server.own.inferenceKey,
    })
    expect(found.body.data).toMatchObject({
      tokens_prompt: 9,
      tokens_completion: 67,
      total_cost: 0.0008094,
    })
    const refused = await sendSpeech(bench(), { ...body, response_format: 'mp3' })
    expect((await readJson(refused)).error.message).toBe(
      'response_format: must be one of wav, pcm for this model',
    )
  })
})
