import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

interface CreationOptions {
  challenge: string
  rp: { id?: string }
  user: { id: string }
}

interface RequestOptions {
  challenge: string
  rpId?: string
}

/** Faults of an authenticator. */
interface Faults {
  origin?: string
  rpId?: string
  counter?: number
  /** False: the person was not verified, only present. */
  userVerified?: boolean
  userHandle?: string
}

const present = 0x01
const verified = 0x04
const attested = 0x40

const hash = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
const encode = (data: string | Uint8Array) => Buffer.from(data).toString('base64url')

/** An authenticator in software, with one passkey. Each use adds one to its counter. */
export class Authenticator {
  readonly origin: string
  readonly credentialId = randomBytes(32)
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject
  #userHandle = ''
  counter = 0

  constructor(origin: string) {
    this.origin = origin
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#privateKey = pair.privateKey
    this.#publicKey = pair.publicKey
  }

  /** Stands for `navigator.credentials.create()`. */
  create({ challenge, rp, user }: CreationOptions, faults: Faults = {}) {
    this.#userHandle = user.id
    const length = Buffer.from([0, this.credentialId.length])
    const credential = Buffer.concat([Buffer.alloc(16), length, this.credentialId, this.#encodeKey()])
    const data = this.#authenticatorData(attested, faults.rpId ?? rp.id, faults)
    const authData = Buffer.concat([data, credential])
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3, 0x63]),
      Buffer.from('fmt'),
      Buffer.from([0x64]),
      Buffer.from('none'),
      Buffer.from([0x67]),
      Buffer.from('attStmt'),
      Buffer.from([0xa0, 0x68]),
      Buffer.from('authData'),
      Buffer.from([0x58, authData.length]),
      authData,
    ])
    const clientDataJSON = this.#clientData('webauthn.create', challenge, faults)
    return this.#wrap({
      clientDataJSON: encode(clientDataJSON),
      attestationObject: encode(attestationObject),
      transports: ['internal'],
    })
  }

  /** Stands for `navigator.credentials.get()`. */
  get({ challenge, rpId }: RequestOptions, faults: Faults = {}) {
    this.counter = faults.counter ?? this.counter + 1
    const authenticatorData = this.#authenticatorData(0, faults.rpId ?? rpId, faults)
    const clientDataJSON = this.#clientData('webauthn.get', challenge, faults)
    const signature = sign(
      'sha256',
      Buffer.concat([authenticatorData, hash(clientDataJSON)]),
      this.#privateKey,
    )
    return this.#wrap({
      authenticatorData: encode(authenticatorData),
      clientDataJSON: encode(clientDataJSON),
      signature: encode(signature),
      userHandle: faults.userHandle ?? this.#userHandle,
    })
  }

  #wrap<T>(response: T) {
    const id = encode(this.credentialId)
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  #authenticatorData(extraFlags: number, rpId = '', { userVerified = true }: Faults = {}): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    const flags = present | (userVerified ? verified : 0) | extraFlags
    return Buffer.concat([hash(rpId), Buffer.from([flags]), counter])
  }

  #clientData(type: string, challenge: string, { origin = this.origin }: Faults): string {
    return JSON.stringify({ type, challenge, origin, crossOrigin: false })
  }

  /** COSE: a key for ES256. */
  #encodeKey(): Buffer {
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' })
    return Buffer.concat([
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
      Buffer.from(x, 'base64url'),
      Buffer.from([0x22, 0x58, 0x20]),
      Buffer.from(y, 'base64url'),
    ])
  }
}
