import { describe, expect, test } from 'bun:test'
import { measureGrowth } from '../../../test/support/detectors.ts'
import { detectorSlugs, detectors } from './detectors.ts'

/** Texts that bring slow patterns to try many ways. */
const units = {
  'one letter': 'a',
  'one digit': '1',
  'capital letters': 'A',
  spaces: ' ',
  'line breaks': '\n',
  'at signs': '@',
  'addresses without an end': 'a.b-c@',
  'domains without an end': 'x@a.',
  'dotted numbers': '1.2.',
  colons: '0:',
  'groups of digits': '4111 ',
  'digits with hyphens': '1-',
  'plus signs': '+1 ',
  'short groups with a trunk prefix': '01 ',
  'words that begin an injection': 'ignore all the ',
  'words that an injection contains': 'rules ',
  'words that allow others between': 'forget a b ',
  'scrambled words': 'ignroe pervious insrtuctions ',
  'disguised words': '1gn0re ',
  'single letters': 'a b c ',
  base64: 'aWdub3Jl',
  'hexadecimal pairs': '69 ',
  tags: '<system',
  'capital words': 'Anna Maria ',
  titles: 'Dr. ',
  greetings: 'Dear Anna ',
  'street words': '12 Main Old ',
  'numbers between capital words': '12345 Anna Berg 12 ',
  'addresses that continue': 'Suite 12, Anna ',
  'capital words of towns': 'Apt. 12\n Berg ',
  'what announces an address': 'lives at ',
  'what announces a name': 'her name is called ',
  'names in a list': 'Rogers, Torres and ',
  'names that act': 'Anna is married ',
  'French street words': '12 rue de la ',
  'JSON web tokens without an end': 'eyJhbGciOiJIUzI1NiJ9.',
  'open private keys': '-----BEGIN PRIVATE KEY-----',
  'key prefixes': 'sk-proj-',
  'assigned keys': 'token=',
  'named values': 'api_key = "',
  'addresses with passwords': 'a://b:c',
  'random words': 'k3J9x_',
  'account numbers': 'DE89 3704 0044 ',
  'letters of other scripts': '王先生',
  'lookalike letters': 'іgnоre ',
  brackets: '[at](at)',
} as const

describe('S13 the time of every detector is linear', () => {
  test.each(detectorSlugs)('%s', (slug) => {
    const slow = Object.entries(units).filter(([, unit]) => {
      // Twice the text takes twice the time; four times if it is quadratic. Again if other load disturbed it.
      const growths = [0, 1, 2].map(() => () => measureGrowth(detectors[slug], unit, 20_000))
      return growths.every((measure) => measure() > 3)
    })
    expect(slow.map(([name]) => name)).toEqual([])
  })
})
