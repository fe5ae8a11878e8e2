import { describe, expect, test } from 'bun:test'
import { findTexts } from '../../../test/support/detectors.ts'
import { findAddresses } from './address.ts'
import { findPersonNames } from './person-name.ts'

describe('names of persons', () => {
  test.each([
    ['Ask Mr. Kowalski about it', 'Mr. Kowalski'],
    ['Frau Dr. Müller kommt', 'Frau Dr. Müller'],
    ['Mme Isabelle Fontaine habite ici', 'Mme Isabelle Fontaine'],
    ['my name is Xanthe Quill and', 'Xanthe Quill'],
    ['ich heiße Stefan Krüger und', 'Stefan Krüger'],
    ["Je m'appelle Camille Dubois.", 'Camille Dubois'],
    ['Dear Sarah,', 'Sarah'],
    ['Hi Grace,', 'Grace'],
    ['Kind regards,\nOliver Penrose', 'Oliver Penrose'],
    ['Mit freundlichen Grüßen\nThomas Berger', 'Thomas Berger'],
    ['then Anna van der Berg left', 'Anna van der Berg'],
    ['then John F. Kennedy left', 'John F. Kennedy'],
    ["Rachel Green's flat", 'Rachel Green'],
    ['Jean-Pierre Lambert a dit', 'Jean-Pierre Lambert'],
    ['Will Smith came', 'Will Smith'],
    ['{"full_name": "Zyx Qwertz"}', 'Zyx Qwertz'],
    ['Zyx Qwertz <zyx@example.org>', 'Zyx Qwertz'],
    ['Why is Samantha so quiet', 'Samantha'],
    ['Her maiden name is Quorvane', 'Quorvane'],
    ['ask my daughter Zelphine today', 'Zelphine'],
    ['It was Xorvin Magnusdottir', 'Magnusdottir'],
    ['directed by Jindřich Holinka', 'Jindřich Holinka'],
    ['my name is jane doe', 'jane doe'],
    ['"No," says Quorvane.', 'Quorvane'],
    ['Vorlip shouted at us', 'Vorlip'],
    ['我叫王小明，你好', '王小明'],
    ['私の名前は田中太郎です', '田中太郎'],
  ])('%s', (text, name) => {
    expect(findTexts(findPersonNames, text)).toEqual([name])
  })

  test.each([
    'Dear Sir or Madam,',
    'Hello World,',
    'Hi Team,',
    'Dear Hiring Manager,',
    'Victoria Station',
    'Martin Street',
    'Will Power',
    'Mark Down',
    'Visual Studio Code',
    'the Python Software Foundation',
    'M. is a letter',
    'Kind regards,\nThe Support Team',
    'class AppComponent { version = 1 }',
    'anna maria in lower case',
    'San Antonio and St. Louis',
    '25 Gordon Road',
    'Samantha.js and john@',
    'They shouted at us',
    'The model is called OpenVoice',
    'IN THE NAME OF LOVE',
  ])('none in %s', (text) => {
    expect(findTexts(findPersonNames, text)).toEqual([])
  })
})

test('finds names of a list beside a known one', () => {
  expect(findTexts(findPersonNames, 'the founders Rogers, Torres and Bell')).toEqual([
    'Rogers',
    'Torres',
    'Bell',
  ])
})

describe('addresses', () => {
  test.each([
    '221 Maple Street, Apt 4B, Springfield, IL 62704',
    '1600 Pineview Boulevard, Suite 210, Austin, TX 78701',
    '14 Larkspur Road, Guildford GU1 4RD',
    'PO Box 1187, Duluth, MN 55802',
    'Hauptstraße 27, 10115 Berlin',
    'Goethestr. 12a, 80336 München',
    'Am Alten Markt 5, 50667 Köln',
    'Keizersgracht 104, 1015 CV Amsterdam',
    '12 rue de la République, 69002 Lyon',
    '8 bis avenue des Ternes, 75017 Paris',
    'Calle de Alcalá 45, 28014 Madrid',
    'Via Garibaldi 15, 20121 Milano',
    'Rua das Flores, 120, 4050-262 Porto',
    '935 69 Gordon Terrace',
    'Søndergade 52',
    '4844 Nybyvägen 65\n Suite 656\n Falun\n Sweden 35018',
    'Victor Hugo u. 49',
    'ul. Północna 73',
    'PSC 1437, Box 3833\nAPO AA 66791',
    'USNS Bergman\nFPO AP 93757',
    'Suite 501',
    '北京市朝阳区建国路88号',
    '東京都千代田区千代田1-1',
  ])('%s', (address) => {
    expect(findTexts(findAddresses, `: ${address}\n`)).toEqual([address])
  })

  test.each([
    '12 Angry Men',
    '24 Hour Drive Time',
    '3 Musketeers Way of Life',
    'She lives at home since March 12',
    'During 1971, sales doubled',
    'Italia 90 and Windows 11',
    'See chapter 3, or Chapter 4.',
    'Our address is 10.0.0.1',
    'Wall Street in New York',
    'Via Appia',
    'Calle 13 is a band',
    'The 2024 Road Map lists 12 Court cases',
    'interface Address { street: string }',
  ])('none in %s', (text) => {
    expect(findTexts(findAddresses, text)).toEqual([])
  })
})

test('an address that is announced needs no street word', () => {
  expect(findTexts(findAddresses, 'Ann lives at 4880 Ombu 91, Salto')).toEqual(['4880 Ombu 91'])
  expect(findTexts(findAddresses, 'Play Ombu 91, Salto')).toEqual([])
})
