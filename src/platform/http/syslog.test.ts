import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createServer, type Server } from 'node:tls'
import { cert, key, otherCert } from '../../../test/support/certificate.ts'
import { EgressError } from './egress-client.ts'
import { encodeFrame, type SyslogOptions, sendSyslog } from './syslog.ts'

const message = { time: '2026-11-16T12:00:00.000Z', severity: 6, id: 'key.update' }
const messages = [1, 2, 3].map((n) => ({
  ...message,
  text: `message ${n}\nnäme ${'x'.repeat(n * 20_000)}`,
}))

describe('S5 syslog over TLS', () => {
  let server: Server
  let port = 0
  /** Bytes that each connection sent. */
  const received: Buffer[] = []
  let isReading = true
  beforeAll(async () => {
    server = createServer({ key, cert }, (socket) => {
      const chunks: Buffer[] = []
      socket.on('error', () => undefined)
      if (!isReading) return void socket.pause()
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('end', () => {
        received.push(Buffer.concat(chunks))
        socket.end()
      })
    })
    server.on('tlsClientError', () => undefined)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => void server.close())

  const send = (host: string, more: Partial<SyslogOptions> = {}) =>
    sendSyslog({ host, port, tls: true }, messages, {
      allowPrivate: [`${host}:${port}`],
      resolve: async () => ['127.0.0.1'],
      timeoutMs: 5000,
      ca: cert,
      ...more,
    })
  const problemOf = (sending: Promise<void>) =>
    sending.then(
      () => 'sent',
      (error: unknown) => (error instanceof EgressError ? error.kind : error),
    )

  test('a server with a certificate for its name gets all messages, encrypted', async () => {
    received.length = 0
    await send('collector.test')
    expect(received).toEqual([Buffer.concat(messages.map(encodeFrame))])
  })

  test('a certificate that is not trusted, or for another name, gets nothing', async () => {
    received.length = 0
    expect(await problemOf(send('collector.test', { ca: otherCert }))).toBe('certificate')
    expect(await problemOf(send('other.test'))).toBe('certificate')
    expect(Buffer.concat(received).toString()).toBe('')
  })

  test('a private address needs the operator, also behind a name', async () => {
    expect(await problemOf(send('collector.test', { allowPrivate: [] }))).toBe('address')
  })

  test('a connection that ends before the messages were sent is a failure', async () => {
    const closing = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.end()
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    closing.listen(0, '127.0.0.1', resolve)
    await promise
    const target = { host: 'collector.test', port: (closing.address() as AddressInfo).port }
    for (const tls of [true, false]) {
      const sending = sendSyslog({ ...target, tls }, [{ ...message, text: 'x'.repeat(20_000_000) }], {
        allowPrivate: [`${target.host}:${target.port}`],
        resolve: async () => ['127.0.0.1'],
        timeoutMs: 5000,
        ca: cert,
      })
      expect(await problemOf(sending)).toBe('unreachable')
    }
    closing.close()
  })

  test('a server that never reads, nor ends the connection, has not confirmed the messages', async () => {
    isReading = false
    expect(await problemOf(send('collector.test', { timeoutMs: 300 }))).toBe('timeout')
    isReading = true
  })
})
