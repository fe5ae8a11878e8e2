import { beforeAll, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { createWorkspace } from '../../../identity/workspaces.ts'

describeOnEachDatabase('GET /files', (server) => {
  let scope: string
  let ids: string[]

  const upload = async (text: string) => {
    const body = new FormData()
    body.append('file', new File([text], `${text}.txt`))
    const { body: file } = await server().call('POST', `/files?${scope}`, { body })
    return file.id as string
  }

  beforeAll(async () => {
    const { db, clock } = server().gateway
    const owner = { organizationId: server().own.organization.id, createdBy: null }
    const { id } = await createWorkspace(db, clock, owner, { slug: 'listing', name: 'Listing' })
    scope = `workspace_id=${id}`
    ids = []
    for (let i = 0; i < 7; i++) {
      ids.push(await upload(`file ${i}`))
      // Other tenants upload in between: their files share the upload order.
      const body = new FormData()
      body.append('file', new File(['x'], 'x.txt'))
      await server().call('POST', '/files', { body, key: server().foreign.inferenceKey })
    }
  })

  interface Found {
    ids: string[]
    pages: number
  }

  async function walk(size: number, next: (page: { cursor: string; last_id: string }) => string, first = '') {
    const found: Found = { ids: [], pages: 0 }
    for (let query = first; ; ) {
      const { body } = await server().call('GET', `/files?${scope}&limit=${size}${query}`)
      const page = body.data.map((file: { id: string }) => file.id)
      expect(body.first_id).toBe(page[0] ?? null)
      expect(body.last_id).toBe(page.at(-1) ?? null)
      found.ids.push(...page)
      found.pages++
      if (!body.has_more) return { ...found, last: body }
      query = `&${next(body)}`
    }
  }

  describe.each([
    ['cursor', (page: { cursor: string }) => `cursor=${page.cursor}`],
    ['after', (page: { last_id: string }) => `after=${page.last_id}`],
    ['after_id', (page: { last_id: string }) => `after_id=${page.last_id}`],
  ] as const)('by %s', (_, next) => {
    test.each([1, 2, 3, 7, 8])('pages of %i have every file once, in order', async (size) => {
      const found = await walk(size, next)
      expect(found.ids).toEqual(ids)
      expect(found.pages).toBe(Math.ceil(7 / size))
    })
  })

  test('the last page has no cursor', async () => {
    const { last } = await walk(3, (page) => `cursor=${page.cursor}`)
    expect(last).toMatchObject({ has_more: false, cursor: null })
  })

  test('a cursor stays good when the file it was made at is deleted', async () => {
    const extra = [await upload('extra 1'), await upload('extra 2')]
    const first = await server().call('GET', `/files?${scope}&limit=8`)
    expect(first.body.last_id).toBe(extra[0])
    await server().call('DELETE', `/files/${extra[0]}?${scope}`)
    const second = await server().call('GET', `/files?${scope}&cursor=${first.body.cursor}`)
    expect(second.body.data.map((file: { id: string }) => file.id)).toEqual([extra[1]])
    await server().call('DELETE', `/files/${extra[1]}?${scope}`)
  })

  test('a cursor is good for its own workspace alone', async () => {
    const { body } = await server().call('GET', `/files?${scope}&limit=1`)
    const key = server().foreign.inferenceKey
    const foreign = await server().call('GET', `/files?cursor=${body.cursor}`, { key })
    expect(foreign.status).toBe(400)
  })

  test.each([1, 3, 7])('with order=desc, pages of %i have every file once, newest first', async (size) => {
    const found = await walk(size, (page) => `order=desc&cursor=${page.cursor}`, '&order=desc')
    expect(found.ids).toEqual(ids.toReversed())
    const [newest = ''] = found.ids
    const { body } = await server().call('GET', `/files?${scope}&order=desc&after=${newest}&limit=1`)
    expect(body.data).toMatchObject([{ id: found.ids[1] }])
  })

  test('the default page is 100 and order=asc is accepted', async () => {
    const { body } = await server().call('GET', `/files?${scope}&order=asc`)
    expect(body.data).toHaveLength(7)
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=x', 'limit'],
    ['order=down', 'order'],
    ['before_id=hg_file_1', 'before_id'],
    ['cursor=garbage', 'cursor'],
    ['cursor=v1.AAAA', 'cursor'],
    ['cursor=', 'cursor'],
    ['after=%00', 'after'],
    ['cursor=x&after=y', 'after'],
    ['cursor=x&after_id=y', 'after_id'],
    ['after=x&after_id=y', 'after_id'],
    ['workspace_id=default', 'workspace_id'],
    ['provider=vendor_c', 'provider'],
  ])('400 naming the field: %s', async (query, field) => {
    const response = await server().call('GET', `/files?${query}`)
    expect(response.status).toBe(400)
    expect(response.body.error.message).toStartWith(`${field}:`)
  })

  test('purpose filters the list, page by page', async () => {
    const withPurpose = async (purpose: string) => {
      const body = new FormData()
      body.append('purpose', purpose)
      body.append('file', new File([purpose], `${purpose}.txt`))
      return (await server().call('POST', `/files?${scope}`, { body })).body.id as string
    }
    const batch = [await withPurpose('batch'), await withPurpose('batch')]
    const evals = await withPurpose('evals')
    const list = async (query: string) => (await server().call('GET', `/files?${scope}&${query}`)).body
    const shown = async (query: string) => (await list(query)).data.map((file: { id: string }) => file.id)
    expect(await shown('purpose=batch')).toEqual(batch)
    expect(await shown('purpose=evals')).toEqual([evals])
    expect(await shown('purpose=vision')).toEqual([])
    expect(await list('purpose=batch&limit=1')).toMatchObject({ has_more: true, last_id: batch[0] })
    expect(await shown(`purpose=batch&after=${batch[0]}`)).toEqual([batch[1]])
    const unknown = await server().call('GET', '/files?purpose=fun')
    expect(unknown.status).toBe(400)
    expect(unknown.body.error.param).toBe('purpose')
    for (const id of [...batch, evals]) await server().call('DELETE', `/files/${id}?${scope}`)
  })

  test('404 for a page after a file that does not exist', async () => {
    const response = await server().call('GET', '/files?after=hg_file_0')
    expect(response.status).toBe(404)
    expect(response.body.error.message).toStartWith('after:')
  })
})
