import { describe, expect, test } from 'bun:test'
import { RevisionReader } from './revision-reader.ts'

describe('RevisionReader', () => {
  test('a read that began before a change does not answer for it', async () => {
    const changes = { count: 0 }
    const results = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    let reads = 0
    const read = () => results[reads++]?.promise ?? Promise.reject(new Error('a third read'))
    const revisions = new RevisionReader({ freshMs: 60_000, changes, read })
    const before = [revisions.read(), revisions.read()]
    changes.count++
    const after = revisions.read()
    expect(reads).toBe(2)
    results[1]?.resolve(2)
    expect(await after).toMatchObject({ revision: 2 })
    // An answer that arrives late does not replace a newer one.
    results[0]?.resolve(1)
    for (const reading of await Promise.all(before)) expect(reading.revision).toBe(2)
    expect(revisions.current).toMatchObject({ revision: 2 })
  })

  test('a read that began before an invalidation does not answer for it', async () => {
    const results = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
    let reads = 0
    const read = () => results[reads++]?.promise ?? Promise.reject(new Error('a third read'))
    const revisions = new RevisionReader({ freshMs: 60_000, changes: { count: 0 }, read })
    const before = revisions.read()
    revisions.invalidate()
    results[0]?.resolve(1)
    await before
    expect(revisions.current).toBeNull()
    results[1]?.resolve(2)
    await revisions.read()
    expect(revisions.current).toMatchObject({ revision: 2 })
    revisions.invalidate()
    expect(revisions.current).toBeNull()
  })

  test('an error is not kept', async () => {
    let reads = 0
    const read = async () => {
      if (reads++ === 0) throw new Error('away')
      return 5
    }
    const revisions = new RevisionReader({ freshMs: 60_000, changes: { count: 0 }, read })
    await expect(revisions.read()).rejects.toThrow('away')
    expect(revisions.current).toBeNull()
    expect(await revisions.read()).toMatchObject({ revision: 5 })
  })
})
