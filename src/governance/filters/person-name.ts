import { type Detector, mergeSpans, type Span } from './detector.ts'
import { ambiguousNames, firstNames, surnames } from './first-names.ts'

const label = '[PERSON_NAME]'

/** Latin letters by their codes: patterns without Unicode properties run several times faster. */
const upper = 'A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞİŁŃŇŌŐŘŚŞŠŤŪŮŰŹŻŽ'
const letter = 'A-Za-zÀ-ÖØ-öø-ɏ'
const word = `(?:[${upper}][${letter}'’]{1,24}(?:-[${upper}][${letter}'’]{1,24})?)`
const initial = `(?:[${upper}]\\.)`
const particle =
  '(?:van|von|der|den|de|del|della|di|da|das|do|dos|du|des|la|le|zu|zur|vom|ter|ten|bin|ibn|al|el|e|y)'
/** Gap between the words of a name; no line break. */
const gap = '[ \\u00a0]'
const tail = `(?:${gap}(?:${initial}${gap})?(?:${particle}${gap}){0,3}${word}|${gap}${initial})`
const start = '\\b'

/** A place where a name is expected: what announces it, and the form it has. */
interface Cue {
  before: RegExp
  name: RegExp
  /** The words before it are a part of it. */
  hasTitle?: boolean
  accepts?: (name: string) => boolean
}

const cues: readonly Cue[] = [
  // Mr. Smith, Frau Dr. Müller, Mme Isabelle Fontaine
  {
    before: new RegExp(
      `${start}(?:Mrs?\\.?|Ms\\.?|Miss|Mx\\.?|Dr\\.?|Prof\\.?|Professor|Rev\\.?|Herrn?|Frau|(?:Hr|Fr|M|Sig)\\.|Monsieur|Madame|Mademoiselle|Mme\\.?|Mlle\\.?|Sra?\\.?|Srta\\.?|Señora?|Don|Doña|Sig\\.(?:ra|na)|Signora?|Dott\\.(?:ssa)?|Dhr\\.?|De heer|Mevr\\.?|[Mm]evrouw|[Mm]eneer|Senhora?|Sir|Lady|Lord|Judge|Nurse|Grandma|Grandpa|Uncle|Aunt)${gap}(?:(?:Dr|Prof|Dipl|Ing|med)\\.${gap}?){0,3}`,
      'g',
    ),
    name: new RegExp(
      `(?:${initial}${gap}?){0,3}(?:(?:${particle}|De|Van|Von|Du|La|Le)${gap}){0,2}${word}${tail}{0,3}`,
      'y',
    ),
    hasTitle: true,
  },
  // My name is, ich heiße
  {
    before: new RegExp(
      `${start}(?:[Mm]y (?:full )?name(?: is|'s)|[Ii]ch heiße|[Mm]ein Name ist|[Jj]e m['’]appelle|[Mm]on nom est|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Ii]l mio nome è|[Mm]eu nome é|(?:[Ee]u )?[Mm]e chamo|[Cc]hamo-me|[Ii]k heet|[Mm]ijn naam is)${gap}`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
  },
  // Dear Jane, Hallo Jürgen: the name must be known
  {
    before: new RegExp(
      `${start}(?:[Dd]ear|[Hh]i|[Hh]ello|[Hh]ey|[Hh]appy birthday|[Gg]ood (?:morning|evening|afternoon)|[Ll]iebe[rs]?|[Hh]allo|[Gg]uten (?:Tag|Morgen)|[Bb]onjour|[Ss]alut|[Cc]h(?:er|ère)|[Hh]ola|[Qq]uerid[oa]|[Ee]stimad[oa]|[Cc]iao|[Cc]ar[oa]|[Gg]entile|[Oo]lá|[Oo]i|[Pp]rezad[oa]|[Bb]este|[Hh]oi|[Gg]eachte|[Tt]hanks|[Tt]hank you),?${gap}`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{0,3}(?=\\s{0,2}(?:[,!:.?;–-]|\\n|$))`, 'y'),
    accepts: isKnown,
  },
  // The line after Kind regards
  {
    before:
      /\b(?:regards|[Ww]ish[e]s|[Ss]incerely|[Ff]aithfully|[Tt]ruly|[Rr]espectfully|[Cc]heers|[Tt]hanks|[Tt]hank you|[Yy]ours|[Ll]ove|Grüßen?|Gruß|[Cc]ordialement|[Bb]ises|[Aa]mitiés|sentiments|[Ss]aludos(?: cordiales)?|[Aa]tentamente|abrazo|[Cc]ordiali saluti|[Dd]istinti saluti|[Aa]tenciosamente|[Cc]umprimentos|abraço|groet(?:en)?|[Bb]est),?[ \t]{0,3}\r?\n\s{0,4}/g,
    name: new RegExp(`${word}${tail}{0,3}(?=[ \\t]{0,3}(?:\\r?\\n|$|,))`, 'y'),
  },
  // Patient: Jane Doe, "full_name": "Jane Doe"
  {
    before: new RegExp(
      `${start}(?:[Ff]ull[ _]?[Nn]ame|[Cc]ustomer[ _]?[Nn]ame|[Cc]ardholder|[Pp]atient|[Ee]mployee|[Aa]ttn|[Aa]ttention|[Bb]ill to|[Ss]hip to|[Ss]igned(?: by)?|[Aa]ccount holder|[Kk]ontoinhaber(?:in)?|[Kk]unde|[Kk]undin|[Aa]nsprechpartner(?:in)?|[Tt]itulaire|[Tt]itular|[Ii]ntestatario|t\\.n\\.v\\.)["']?\\s{0,2}[:=]?\\s{0,2}["']?`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{1,3}`, 'y'),
  },
]

/** Two words or more, of which the first may be a known first name, or an email address follows. */
const fullName = new RegExp(`(?=[${upper}])(?<![${letter}0-9@_./\\\\-])(${word})(${tail}{1,3})`, 'g')
const addressFollows = /["']?[ \u00a0]<[\w.+'-]{1,64}@/y
/** `我叫王小明`, `李先生`, `私の名前は田中太郎です`, `佐藤様`. */
const chinese =
  /(?=[\u4e00-\u9fff])(?<=我叫|我的名字是|我是|姓名[:：]\s?)[\u4e00-\u9fff]{2,4}(?=[，。,.\s]|$)|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤][\u4e00-\u9fff]{0,2}(?:先生|女士|小姐)/g
const japanese =
  /(?=[\u3041-\u9fff])(?<=名前は|氏名[:：]\s?)[\u4e00-\u9fff\u3041-\u30ff]{2,10}?(?=です|と申します|[。、\s]|$)|(?<![\u4e00-\u9fff])(?!皆|各位|お客|神|奥|王)[\u4e00-\u9fff]{2,4}(?:さん|様|氏)(?![\u4e00-\u9fff])/g

/** Words that no name has, and that begin no name: what follows a first name in places, firms and titles. */
const otherWords = new Set(
  `Airport Station Street Road Avenue Boulevard Drive Square Park Place Bridge Hotel Hospital School College University Institute Foundation Bank Church Museum Theatre Theater Stadium Arena Library Garden Gardens County City Town Island Lake River Valley Mountain Beach Inc Ltd Llc Corp Corporation Company Group Team Support Department Office Committee Members Customer Customers Council Award Prize Theorem Law Method Effect Syndrome Disease Act Day Week Street Building Tower House Hall Center Centre Market Sir Madam Manager World There All Everyone Everybody Folks Guys Friends Colleagues Neighbours Neighbors Students Parents Sirs Recruiter Hiring Valued User Users Kitty Support Service Services Sales Marketing Engineering Security Admin Administrator Reader Readers Editor Damen Herren Kunde Kunden Kollegen Team Messieurs Mesdames Clients Directeur Présidente Président Tous Señores Señor Todos Clienti Tutti Cliente Clientes Klant Iedereen January February March April May June July August September October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday Die Der Das Und The And Or Of In On At For With To From Is Are Was Your My Our This That It We You They He She I If When What Where Why How Who Best Kind Regards Please Thanks Software Data Engine Studio Framework Api Server Cloud Code Project Street Cup League Championship Open Bay Press Times Post Journal Records Motors Airlines Systems Technologies Labs Partners Capital`.split(
    /\s+/,
  ),
)

export const findPersonNames: Detector = (text) =>
  mergeSpans([
    ...cues.flatMap((cue) => findAnnounced(text, cue)),
    ...findFullNames(text),
    ...findEastAsian(text),
  ])

function findAnnounced(text: string, { before, name, hasTitle, accepts }: Cue): Span[] {
  const spans: Span[] = []
  for (const { index, 0: cue } of text.matchAll(before)) {
    name.lastIndex = index + cue.length
    const match = name.exec(text)?.[0] ?? ''
    const length = cutName(match)
    if (length === 0 || accepts?.(match) === false) continue
    const start = index + (hasTitle ? 0 : cue.length)
    spans.push({ start, end: index + cue.length + length, label })
  }
  return spans
}

function findFullNames(text: string): Span[] {
  const spans: Span[] = []
  fullName.lastIndex = 0
  for (let match = fullName.exec(text); match; match = fullName.exec(text)) {
    const [whole, first = '', rest = ''] = match
    addressFollows.lastIndex = match.index + whole.length
    const isCertain = isFirstName(first) || addressFollows.test(text)
    const length = isCertain || ambiguousNames.has(first) ? cutName(whole) : 0
    const isName = isCertain || surnames.has(lastWord(rest.slice(0, length - first.length)))
    if (length > first.length && isName) spans.push({ start: match.index, end: match.index + length, label })
    // The name may begin with the second word.
    else fullName.lastIndex = match.index + first.length
  }
  return spans
}

function lastWord(text: string): string {
  return text.slice(Math.max(text.lastIndexOf(' '), text.lastIndexOf('\u00a0')) + 1)
}

function isFirstName(word: string): boolean {
  return firstNames.has(word) || (word.includes('-') && word.split('-').every((half) => firstNames.has(half)))
}

function isKnown(name: string): boolean {
  const first = firstWord(name)
  return isFirstName(first) || ambiguousNames.has(first)
}

function firstWord(name: string): string {
  return name.split(/[\s ]/, 1)[0] ?? ''
}

/** The length of the name up to the first word that no name has; 0 if that makes it a place or a firm. */
function cutName(name: string): number {
  let length = 0
  for (const { index, 0: part } of name.matchAll(/[^\s]+/g)) {
    const bare = part.replace(/['’]s$/, '')
    if (otherWords.has(bare.replace(/\.$/, ''))) return index === 0 || isPlace(bare) ? 0 : length
    length = index + bare.length
  }
  return length
}

const placeWords =
  /^(?:Airport|Station|Street|Road|Avenue|Boulevard|Drive|Square|Park|Place|Bridge|Hotel|Hospital|School|College|University|Institute|Foundation|Bank|Church|Museum|Theat(?:re|er)|Stadium|Arena|Library|Gardens?|County|City|Island|Lake|River|Valley|Beach|Inc|Ltd|Corp|Company|Group|Award|Prize|Theorem|Law|Method|Effect|Syndrome|Disease|Building|Tower|House|Hall|Cent(?:er|re)|Market|Cup|Press|Studio|Labs|Partners|Motors|Records)$/

function isPlace(word: string): boolean {
  return placeWords.test(word)
}

function findEastAsian(text: string): Span[] {
  if (!/[\u4e00-\u9fff]/.test(text)) return []
  return [chinese, japanese].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: name }) => ({
      start: index,
      end: index + name.length,
      label,
    })),
  )
}
