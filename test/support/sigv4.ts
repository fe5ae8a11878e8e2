import { createHash, createHmac } from 'node:crypto'

interface SignedRequest {
  method: string
  url: string
  headers: Record<string, string>
  text: string
}

const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest()

/** Signature Version 4 as published, computed from the request on the wire, independently of src. */
export function computeSignature({ method, url, headers, text }: SignedRequest, secret: string): string {
  const [, scope = '', names = ''] =
    /Credential=[^/]+\/(\S+), SignedHeaders=(\S+), /.exec(headers.authorization ?? '') ?? []
  const [day = '', region = '', service = '', end = ''] = scope.split('/')
  const { host, pathname } = new URL(url)
  const lines = names.split(';').map((name) => `${name}:${name === 'host' ? host : headers[name]?.trim()}`)
  const path = pathname.split('/').map(encodeSegment).join('/')
  const canonical = [method, path, '', ...lines, '', names, sha256Hex(text)].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256Hex(canonical)].join('\n')
  const start: Buffer = Buffer.from(`AWS4${secret}`)
  const key = [day, region, service, end].reduce((secretSoFar, part) => hmac(secretSoFar, part), start)
  return hmac(key, toSign).toString('hex')
}

/** The path on the wire is encoded a second time. */
function encodeSegment(segment: string): string {
  return [...Buffer.from(segment)]
    .map((byte) => String.fromCharCode(byte))
    .map((letter) => (/[A-Za-z0-9\-._~]/.test(letter) ? letter : `%${hex(letter)}`))
    .join('')
}

function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')
}
