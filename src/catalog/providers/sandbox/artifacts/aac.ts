/** AAC-LC, 48 kHz, mono: what MP4 players expect. */
export const aacSampleRate = 48_000
export const samplesPerAacFrame = 1024
/** AudioSpecificConfig: object type 2, rate index 3, one channel. */
export const aacConfig = Buffer.from('1188', 'hex')
/** A single channel element without spectral bands, and the end. */
export const silentAacFrame = Buffer.from('00000007', 'hex')
