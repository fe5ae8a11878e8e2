import { expect, test } from 'bun:test'
import { addPlace, parsePlaces } from './recent-list.ts'

const place = (href: string, title = href) => ({ title, href })

test('the last place is first, and each path is there once', () => {
  const places = ['/keys', '/models', '/keys?q=web'].reduce(
    (list, href) => addPlace(list, place(href)),
    parsePlaces(null),
  )
  expect(places.map(({ href }) => href)).toEqual(['/keys?q=web', '/models'])
})

test('the list and its texts are bounded', () => {
  const paths = Array.from({ length: 30 }, (_, index) => `/keys/${index}`)
  const places = paths.reduce((list, href) => addPlace(list, place(href, 'x'.repeat(500))), parsePlaces(null))
  expect(places).toHaveLength(8)
  expect(places[0]?.href).toBe('/keys/29')
  expect(places[0]?.title).toHaveLength(120)
  expect(addPlace(places, place(`/requests?text=${'x'.repeat(2000)}`))).toEqual(places)
})

test('what another program stored is not followed', () => {
  expect(parsePlaces('no JSON')).toEqual([])
  expect(parsePlaces('{"href":"/keys"}')).toEqual([])
  const hostile = [
    null,
    place('//example.com'),
    place('javascript:alert(1)'),
    { href: 1, title: 'x' },
    place('/keys'),
  ]
  expect(parsePlaces(JSON.stringify(hostile))).toEqual([place('/keys')])
})
