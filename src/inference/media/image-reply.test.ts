import { expect, test } from 'bun:test'
import { greyPixelPng } from '../../catalog/providers/sandbox/media.ts'
import type { ImagesCall } from '../../formats/call/images.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { UpstreamError } from '../failures/errors.ts'
import { ImageCollector } from './image-reply.ts'

test('S13 the images of a reply have one limit together', async () => {
  const png = Buffer.from(greyPixelPng, 'base64')
  const host = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(png) })
  const finish = (reply_bytes: number) => {
    const settings = {
      limits: { reply_bytes, first_byte: 5000 },
      egress: { allow_private: [`127.0.0.1:${host.port}`] },
    }
    const call = { prompt: 'x', n: 2, references: [], unknown: [] } as unknown as ImagesCall
    const collector = new ImageCollector(call)
    for (const name of ['a', 'b'])
      collector.add({
        type: 'image',
        image: { source: { kind: 'url', url: `http://127.0.0.1:${host.port}/${name}` } },
      })
    return collector.finish({ settings } as unknown as Gateway)
  }
  try {
    expect((await finish(2 * png.length)).images).toHaveLength(2)
    await expect(finish(2 * png.length - 1)).rejects.toThrow(UpstreamError)
  } finally {
    await host.stop(true)
  }
})
