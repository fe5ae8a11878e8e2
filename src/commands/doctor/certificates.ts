import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Config } from '../../config.ts'
import { withDeadline } from '../../platform/time/deadline.ts'
import { type CheckResult, failed, passed, skipped, warned } from './check-result.ts'

const check = 'certificates'
const dayMs = 24 * 3600 * 1000
/** Leaves time to renew one, also where it takes weeks. */
const noticeDays = 30
const connectTimeoutMs = 10_000

/** The certificates in files that variables name: authorities that Headgate trusts. */
export function checkCertificateFiles(
  { environment, redis, clickhouse }: Config,
  now = Date.now(),
): CheckResult[] {
  const files: [string, string | null][] = [
    ['REDIS_CA_FILE', redis?.ca ?? null],
    ['CLICKHOUSE_CA_FILE', clickhouse?.ca ?? null],
  ]
  const results = files.flatMap(([name, pem]) => (pem === null ? [] : describePem(name, pem, now)))
  for (const name of ['VAULT_CACERT', 'NODE_EXTRA_CA_CERTS']) {
    const path = environment[name]
    if (path) results.push(...readCertificates(name, path, now))
  }
  return results.length > 0 ? results : [skipped(check, 'No variable names a file of certificates.')]
}

function readCertificates(name: string, path: string, now: number): CheckResult[] {
  try {
    return describePem(name, readFileSync(path, 'utf8'), now)
  } catch {
    return [
      failed(check, `${name} names a file that cannot be read.`, 'Correct the path or its permissions.'),
    ]
  }
}

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

function describePem(name: string, pem: string, now: number): CheckResult[] {
  const blocks = pem.match(pemBlock) ?? []
  if (blocks.length === 0)
    return [
      failed(check, `The file of ${name} has no certificate in PEM.`, 'Set it to a file of certificates.'),
    ]
  try {
    const certificates = blocks.map((block) => new X509Certificate(block))
    return [describeAuthorities(`The file of ${name}`, certificates, now)]
  } catch {
    return [failed(check, `The file of ${name} has a damaged certificate.`, 'Replace the file.')]
  }
}

/** Lists of authorities often keep some that have expired: those beside them still work. */
export function describeAuthorities(
  owner: string,
  certificates: readonly Validity[],
  now: number,
): CheckResult {
  const valid = certificates.filter(({ validTo }) => Date.parse(validTo) > now)
  const expired = certificates.length - valid.length
  if (expired === 0 || valid.length === 0) return describeExpiry(owner, certificates, now)
  return warned(
    check,
    `${owner} has ${expired} expired of ${certificates.length} certificates.`,
    'Remove them from the file, unless a server that Headgate calls needs one: then renew it.',
  )
}

type Validity = Pick<X509Certificate, 'validFrom' | 'validTo'>

/** The certificate that expires first decides. */
export function describeExpiry(owner: string, certificates: readonly Validity[], now: number): CheckResult {
  const until = Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)))
  const from = Math.max(...certificates.map(({ validFrom }) => Date.parse(validFrom)))
  const [day, days] = [toDay(until), Math.floor((until - now) / dayMs)]
  const remedy = 'Renew the certificate.'
  if (until <= now) return failed(check, `${owner} has a certificate that expired on ${day}.`, remedy)
  if (from > now)
    return failed(
      check,
      `${owner} has a certificate that is valid from ${toDay(from)} only.`,
      'Check the clock and the certificate.',
    )
  if (days < noticeDays)
    return warned(check, `${owner} has a certificate that expires on ${day}, in ${days} days.`, remedy)
  return passed(check, `${owner}: valid until ${day}.`)
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The certificate that clients see at the public URL. */
export async function checkPublicCertificate(
  publicUrl: string | undefined,
  now = Date.now(),
): Promise<CheckResult[]> {
  const url = publicUrl === undefined ? null : URL.parse(publicUrl)
  if (url?.protocol !== 'https:') return []
  const owner = `public_url (${url.host})`
  try {
    const reading = readPeer(url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || 443))
    const { certificate, problem } = await withDeadline(
      connectTimeoutMs,
      reading.result,
      () => new Error('timeout'),
    ).finally(reading.close)
    const expiry = describeExpiry(owner, [certificate], now)
    if (problem === null || expiry.status === 'failed') return [expiry]
    return [
      expiry,
      failed(
        check,
        `${owner} has a certificate that this machine does not trust: ${problem}.`,
        'Install the whole chain at the reverse proxy, for this host name.',
      ),
    ]
  } catch {
    return [
      warned(
        check,
        `The certificate of ${owner} cannot be read from this machine.`,
        'Check that the reverse proxy runs, and that its name resolves here.',
      ),
    ]
  }
}

interface Peer {
  certificate: Validity
  /** Why it is not trusted. */
  problem: string | null
}

/** Reads it whether or not it is trusted: nothing else is sent or received. */
function readPeer(host: string, port: number): { result: Promise<Peer>; close: () => void } {
  const { promise, resolve, reject } = Promise.withResolvers<Peer>()
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = connect({ host, port, ...name, rejectUnauthorized: false })
  socket.once('error', reject)
  socket.once('secureConnect', () => {
    const { valid_from: validFrom, valid_to: validTo } = socket.getPeerCertificate()
    const problem = socket.authorized ? null : String(socket.authorizationError ?? 'not verified')
    resolve({ certificate: { validFrom, validTo }, problem })
  })
  return { result: promise, close: () => void socket.destroy() }
}
