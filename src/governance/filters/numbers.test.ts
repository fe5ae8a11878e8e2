import { describe, expect, test } from 'bun:test'
import { findTexts, redactWith } from '../../../test/support/detectors.ts'
import { findCreditCards } from './credit-card.ts'
import { findIbans } from './iban.ts'
import { findIpAddresses } from './ip-address.ts'
import { findPhones } from './phone.ts'
import { findSsns } from './ssn.ts'

describe('phone numbers', () => {
  test.each([
    '914-309-4996',
    '914.309.4996',
    '9143094996',
    '(914) 309-4996',
    '(914)309-4996',
    '914 309 4996',
    '+1 914 309 4996',
    '1-914-309-4996 ext. 42',
    '+49 30 23125 000',
    '+49 (0)30 23125000',
    '0049 30 23125001',
    '+442079460958',
    '020 7946 0958',
    '06 39 98 12 34',
    '030/23125014',
    '138 0013 8000',
    '＋81 3 5550 0199',
    '+1 (202) 555‑0155',
  ])('%s', (number) => {
    expect(redactWith(findPhones, number)).toBe('[PHONE]')
    expect(findTexts(findPhones, `Call it: ${number}, or not.`)).toEqual([number])
  })

  test.each([
    ['Tel. 089/9998-123', 'Tel. [PHONE]'],
    ['Mobile: 03.93.92.16.85', 'Mobile: [PHONE]'],
    ['655 437 108 office', '[PHONE] office'],
    ['Desk: 99 668472', 'Desk: [PHONE]'],
    ['رقم: +٤٩ ٣٠ ١٢٣٤٥٦٧', 'رقم: [PHONE]'],
    ['+49—30—1234567', '[PHONE]'],
    ['mi teléfono es 612 345 678', 'mi teléfono es [PHONE]'],
    ['{"contact_phone":"2125550188"}', '{"contact_phone":"[PHONE]"}'],
    ['914-309-4996 914-309-4997,914-309-4998', '[PHONE] [PHONE],[PHONE]'],
    ['7,914-309-4996,12', '7,[PHONE],12'],
    ['7,020 7946 0958,12', '7,[PHONE],12'],
    ['手机号是138 0013 8000，谢谢', '手机号是[PHONE]，谢谢'],
  ])('announced: %s', (text, redacted) => {
    expect(redactWith(findPhones, text)).toBe(redacted)
  })

  test.each([
    '2024-11-16T01:02:03.000Z',
    '01.02.2024',
    '192.0.2.146',
    '1700000000123',
    'order 4021998812',
    'id=4021998812',
    '{ 3735928559, 2882400001 }',
    '123e4567-e89b-12d3-a456-426614174000',
    '978-0-14-143951-8',
    '4111 1111 1111 1111',
    '078-05-1120',
    '1,234,567,890',
    '0000000000',
    '3.14159265358979',
    'DE89 3704 0044 0532 0130 00',
    'NL91 ABNA 0417 1643 00',
    'version 10.2.4',
  ])('none in %s', (text) => {
    expect(findTexts(findPhones, text)).toEqual([])
  })
})

describe('card numbers', () => {
  test.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4222222222222',
    '5555555555554444',
    '2223003122003222',
    '3782 822463 10005',
    '371449635398431',
    '6011 1111 1111 1117',
    '3530111333300000',
    '3056 930902 5904',
    '6200000000000005',
    '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1',
    '41 11 11 11 11 11 11 11',
    '41111111 11111111',
    '4111.1111.1111.1111',
    '4111/1111/1111/1111',
    '4111\n1111\n1111\n1111',
    '4111 - 1111 - 1111 - 1111',
    '4111–1111—1111−1111',
    '4111 1111-1111.1111',
    '٤١١١ ١١١١ ١١١١ ١١١١',
    '४१११११११११११११११',
    '𝟜𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙𝟙',
    '3530 1113 3330 0000',
    '6759649826438453',
    '501800000009',
  ])('%s', (number) => {
    expect(redactWith(findCreditCards, `paid with ${number}.`)).toBe('paid with [CREDIT_CARD].')
  })

  test.each([
    ['1,4111111111111111,12/27', '1,[CREDIT_CARD],12/27'],
    ['card no 4111111111111111', 'card no [CREDIT_CARD]'],
    ['{"card_id":"4111111111111111"}', '{"card_id":"[CREDIT_CARD]"}'],
    ['I paid 4111111111111111', 'I paid [CREDIT_CARD]'],
    ['2 4111111111111111 04 27', '2 [CREDIT_CARD] 04 27'],
    ['4111 1111 1111 1111 123', '[CREDIT_CARD] 123'],
    ['6200 0000 0000 0000 000', '[CREDIT_CARD]'],
    ['4111111111111111 5555555555554444', '[CREDIT_CARD] [CREDIT_CARD]'],
  ])('boundaries: %s', (text, redacted) => {
    expect(redactWith(findCreditCards, text)).toBe(redacted)
  })

  test.each([
    '4111111111111112',
    '4111-1111-1111-1111-2',
    '0000 0000 0000 0000',
    '4444444444444444',
    '1700000000123',
    '41111.11111111111',
    'x4111111111111111',
    '1 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 3 4',
    '5404 6817 9211 2310 1412 3333',
    '0.4111111111111111',
    'order 4111111111111111',
    '9007199254740991',
    'GB29 NWBK 6016 1331 9268 19',
    'DE89370400440532013000',
  ])('none in %s', (text) => {
    expect(findTexts(findCreditCards, text)).toEqual([])
  })
})

describe('bank accounts (ISO 13616)', () => {
  test.each([
    'DE89 3704 0044 0532 0130 00',
    'DE89370400440532013000',
    'GB29 NWBK 6016 1331 9268 19',
    'FR14 2004 1010 0505 0001 3M02 606',
    'ES91 2100 0418 4502 0005 1332',
    'IT60 X054 2811 1010 0000 0123 456',
    'NO93 8601 1117 947',
  ])('%s is no phone and no card', (account) => {
    const text = `IBAN: ${account} BIC COBADEFFXXX`
    expect(findIbans(text).map(({ start, end }) => text.slice(start, end))).toEqual([account])
    expect([...findPhones(text), ...findCreditCards(text)]).toEqual([])
  })

  test('a wrong checksum or length is none', () => {
    expect(findIbans('DE88 3704 0044 0532 0130 00, DE89 3704 0044, ZZ89 3704 0044 0532 0130 00')).toEqual([])
  })
})

describe('social security numbers', () => {
  test.each([
    '123-45-6789',
    '219 09 9999',
    'SSN: 219099999',
    '{"ssn":"219099999"}',
    'social security number is 219099999',
  ])('%s', (text) => {
    expect(redactWith(findSsns, text)).toContain('[SSN]')
  })

  test.each([
    '000-12-3456',
    '666-12-3456',
    '912-12-3456',
    '123-00-4567',
    '123-45-0000',
    '219099999',
    '1123-45-6789',
    '123-45 6789',
    '123-45-67890',
    '2024-11-1234',
  ])('none in %s', (text) => {
    expect(findTexts(findSsns, text)).toEqual([])
  })
})

describe('IP addresses', () => {
  test.each([
    '192.0.2.1',
    '0.0.0.0',
    '255.255.255.255',
    '192[.]0[.]2[.]44',
    '2001:db8::1',
    '2001:db8:85a3::8a2e:370:7334',
    '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
    '::1',
    '::ffff:192.0.2.128',
    'fe80::1',
  ])('%s', (address) => {
    expect(redactWith(findIpAddresses, `from ${address}, now`)).toBe('from [IP_ADDRESS], now')
  })

  test.each([
    ['http://192.0.2.1:8080/x', 'http://[IP_ADDRESS]:8080/x'],
    ['198.51.100.0/24', '[IP_ADDRESS]/24'],
    ['[2001:db8::1]:443', '[[IP_ADDRESS]]:443'],
    ['ip=192.0.2.1', 'ip=[IP_ADDRESS]'],
    ['<ip>192.0.2.1</ip>', '<ip>[IP_ADDRESS]</ip>'],
    ['fe80::1%eth0', '[IP_ADDRESS]%eth0'],
  ])('boundaries: %s', (text, redacted) => {
    expect(redactWith(findIpAddresses, text)).toBe(redacted)
  })

  test.each([
    'version 1.2.3.4',
    'v1.2.3.4',
    'Version=4.0.0.0',
    'Chrome/120.0.0.0',
    'section 4.1.2.3',
    '§ 4.1.2.3',
    '999.1.1.1',
    '1.2.3',
    '1.2.3.4.5',
    '01.02.03.04',
    '12:34:56',
    '52:54:00:12:34:56',
    'std::vector',
    'a::b',
    'abc::def',
    '10::20',
    'items[::2]',
    'm[1:3, ::4]',
    '::before',
    '::',
  ])('none in %s', (text) => {
    expect(findTexts(findIpAddresses, text)).toEqual([])
  })
})
