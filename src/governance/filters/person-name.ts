import { type Detector, findMatches, mergeSpans, type Span } from './detector.ts'
import { surnames } from './first-names.ts'
import { classifyName, type NameKind } from './name-lists.ts'

const label = '[PERSON_NAME]'

/** Latin letters by their codes: patterns without Unicode properties run several times faster. */
const upper = 'A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞİŁŃŇŌŐŘŚŞŠŤŪŮŰŹŻŽ'
const letter = 'A-Za-zÀ-ÖØ-öø-ɏ'
const word = `(?:[${upper}][${letter}'’]{1,24}(?:-[${upper}][${letter}'’]{1,24})?)`
const initial = `(?:[${upper}]\\.?(?![${letter}'’]))`
const particle =
  '(?:van|von|der|den|de|del|della|di|da|das|do|dos|du|des|la|le|zu|zur|vom|ter|ten|bin|ibn|al|el|e|y)'
/** Gap between the words of a name; no line break. */
const gap = '[ \\u00a0]'
const tail = `(?:${gap}(?:${initial}${gap})?(?:${particle}${gap}){0,3}${word}|${gap}${initial})`
const start = '\\b'

const relations =
  'kid|child|son|daughter|wife|husband|spouse|fianc[eé]e?|brother|sister|mother|father|uncle|aunt|cousin|nephew|niece|grand(?:son|daughter|mother|father)|friend|girlfriend|boyfriend|colleague|co-worker|boss|roommate|neighbou?r'
const professions =
  'producer|director|actor|actress|singer|author|player|songwriter|guitarist|drummer|bassist|writer|journalist|reporter|commenter|poet|novelist|composer|painter|professor|chef|detective|officer|captain|lawyer|attorney|doctor|nurse|engineer|senator|minister|coach|founder|artist|scientist|historian|architect|physicist|philosopher'

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
      `${start}(?:[Mm]rs?\\.?|[Mm]s\\.?|Miss|Mx\\.?|Dr\\.?|Prof\\.?|Professor|Rev\\.?|Herrn?|Frau|(?:Hr|Fr|M|Sig)\\.|Monsieur|Madame|Mademoiselle|Mme\\.?|Mlle\\.?|Sra?\\.?|Srta\\.?|Señora?|Don|Doña|Sig\\.(?:ra|na)|Signora?|Dott\\.(?:ssa)?|Dhr\\.?|De heer|Mevr\\.?|[Mm]evrouw|[Mm]eneer|Senhora?|Sir|Lady|Lord|Judge|Senator|President|Sergeant|Sgt\\.?|Lt\\.?|Capt\\.?|Captain|Nurse|Grandma|Grandpa|Uncle|Aunt)${gap}(?:(?:Dr|Prof|Dipl|Ing|med)\\.${gap}?){0,3}`,
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
  // Her maiden name is Ybarra, what is your name? Sölvi
  {
    before: new RegExp(
      `\\b(?:[Nn]ame|[Ss]urname|[Nn]ickname)(?:${gap}is|['’]s|${gap}was|[?:])?${gap}{1,4}|\\b(?:(?:named|called|call(?=${gap}me))${gap}(?:(?:him|her|them|me)${gap})?)`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
    accepts: isNameLike,
  },
  // my daughter Agi, director Jindřich Holinka
  {
    before: new RegExp(`\\b(?:${relations}|${professions})${gap}`, 'g'),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
    accepts: isNameLike,
  },
  // directed by Jindřich Holinka, a tribute to Hanna Ukkonen
  {
    before: new RegExp(`\\b(?:by|[Bb]y:|featur(?:es|ing)|daughter of|son of|wife of)${gap}{1,6}`, 'g'),
    name: new RegExp(`${word}${tail}{1,3}`, 'y'),
    accepts: hasKnownName,
  },
  {
    before: new RegExp(
      `\\b(?:(?:[Dd]irected|[Ss]ung) [Bb]y:?|starring|tribute to|[Ff]ollow up with|married to)${gap}{1,6}`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
    accepts: isNameLike,
  },
  // "No," says Gerste.
  {
    before: new RegExp(
      `["”]${gap}(?:says|said|asks|ask[e]d|replied|adds|added|explained|shouted|whispered)${gap}`,
      'g',
    ),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
    accepts: isNameLike,
  },
  // I'm Bojka Žilih, this is Jane
  {
    before: new RegExp(`\\b(?:[Ii] am|[Ii]['’]m|[Tt]his is|[Ii]t['’]s)${gap}`, 'g'),
    name: new RegExp(`${word}${tail}{0,3}`, 'y'),
    accepts: (name) => isKnown(name) && (name.includes(' ') || classifyName(name).first === 'certain'),
  },
  // my name is jane doe: in lower case only with a known name
  {
    before: /\b(?:[Mm]y name(?: is|['’]s)|people call me|[Nn]ame:) {1,4}/g,
    name: new RegExp(`[${letter}'’]{2,25}(?: [a-z]\\.?(?= ))?(?: [${letter}'’]{2,25})?`, 'y'),
    accepts: (name) => classifyName(firstWord(name)).first === 'certain',
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

/** One word or more with a capital letter. */
const capitalWords = new RegExp(`(?=[${upper}])(?<![${letter}0-9@_./\\\\-])(${word})(${tail}{0,3})`, 'g')
const emailFollows = /["']?[ \u00a0]<[\w.+'-]{1,64}@/y
const initialFirst = /^[ \u00a0][A-Z]\.?[ \u00a0]/
/** Code, a domain, or the rest of a longer word. */
const wordContinues = new RegExp(`[${letter}0-9_@(/\\\\=-]|\\.[a-z0-9]`, 'y')
/** Places, streets and ships have the names of saints and of persons. */
const placeBefore =
  /(?:(?:^|[\s(,])(?:San|Santa|Santo|São|St\.?|Saint|Sankt|Fort|Port|Mount|Lake|Cape|Los|Las|Den|New|North|South|East|West|USS|USNS|USNV|USCGC|HMS|Rua|Via|Viale|Piazza|Calle|Avenida|Av\.?|Avda\.?|Rue|Boulevard|ul\.|Plaza|Paseo)[ -]|\d[ .]? ?)$/
/** A house number, a street word or a firm. */
const placeFollows = / \d|,? (?:u\.|út|utca|str\.|and Sons|& |Inc|LLC|Ltd|PLC)/y

/** `我叫王小明`, `李先生`, `私の名前は田中太郎です`, `佐藤様`. */
const chinese =
  /(?=[\u4e00-\u9fff])(?<=我叫|我的名字是|我是|姓名[:：]\s?)[\u4e00-\u9fff]{2,4}(?=[，。,.\s]|$)|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤][\u4e00-\u9fff]{0,2}(?:先生|女士|小姐)/g
const japanese =
  /(?=[\u3041-\u9fff])(?<=名前は|氏名[:：]\s?)[\u4e00-\u9fff\u3041-\u30ff]{2,10}?(?=です|と申します|[。、\s]|$)|(?<![\u4e00-\u9fff])(?!皆|各位|お客|神|奥|王)[\u4e00-\u9fff]{2,4}(?:さん|様|氏)(?![\u4e00-\u9fff])/g

/** Words that no name has, and that begin no name: what follows a first name in places, firms and titles. */
const otherWords = new Set(
  `Airport Station Street Road Avenue Boulevard Drive Square Park Place Bridge Hotel Hospital School College University Institute Foundation Bank Church Museum Theatre Theater Stadium Arena Library Garden Gardens County City Town Island Lake River Valley Mountain Beach Inc Ltd Llc Corp Corporation Company Group Team Support Department Office Committee Members Customer Customers Council Award Prize Theorem Law Method Effect Syndrome Disease Act Day Week Street Building Tower House Hall Center Centre Market Sir Madam Manager World There All Everyone Everybody Folks Guys Friends Colleagues Neighbours Neighbors Students Parents Sirs Recruiter Hiring Valued User Users Kitty Support Service Services Sales Marketing Engineering Security Admin Administrator Reader Readers Editor Damen Herren Kunde Kunden Kollegen Team Messieurs Mesdames Clients Directeur Présidente Président Tous Señores Señor Todos Clienti Tutti Cliente Clientes Klant Iedereen January February March April May June July August September October November December Monday Tuesday Wednesday Thursday Friday Saturday Sunday Die Der Das Und The And Or Of In On At For With To From Is Are Was Your My Our This That It We You They He She I If When What Where Why How Who Best Kind Regards Please Thanks Software Data Engine Studio Framework Api Server Cloud Code Project Street Cup League Championship Open Bay Press Times Post Journal Records Motors Airlines Systems Technologies Labs Partners Capital Ave Rd Club Country Orchestra Terrace Union Creek Cliffs Dam Prairie Greens Islands Hills Heights Gate Gateway Crossroad Springs Apt Suite Way Court Via Calle Rua Rue Avenida Piazza Plaza Viale Plc Gmbh Sons Associates Bros Brothers Industries Holdings Enterprises Solutions Consulting Border Police Republic Kingdom States Castle Palace Cathedral Abbey Forest Desert Ocean Sea Coast Port Harbor Harbour Royal Version Edition Series Trophy Prix Festival News Magazine Daily Weekly Herald Tribune Chronicle Gazette Review University Clinic Pharmacy Restaurant Cafe Bar Pub Grill Pizza Le La Les El Los Las Un Une Une Back To No Not Yes Ok Okay So But As By About After Before Then Now Here Please Sorry Hello Hi Hey Dear Good Great New Old`.split(
    /\s+/,
  ),
)

export const findPersonNames: Detector = (text) => {
  const found = mergeSpans([
    ...cues.flatMap((cue) => findAnnounced(text, cue)),
    ...findKnownNames(text),
    ...findActingPersons(text),
  ])
  return mergeSpans([...found, ...findListed(text, found), ...findEastAsian(text)])
}

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

/** Words before which only the name of a person stands: Mehrudin shouted, Selma's daughter, Leif: "Who is it?" */
const personFollows = new RegExp(
  `(?<![${letter}0-9@_./\\\\-])(${word})(?=['’]s${gap}(?:${relations})\\b|${gap}(?:shouted|whispered|smiled|laughed|nodded|sighed|shrugged|lives|lived|was born|grew up|married|died|began writing|had given|spent (?:a|his|her|the|two|three)|flew to|is (?:a )?(?:\\d{1,3}[ -]?years?|married|my)|said,?${gap}["“])\\b|:${gap}?["“])`,
  'g',
)

function findActingPersons(text: string): Span[] {
  return findMatches(text, personFollows, label, ({ 1: name = '' }) => isNameLike(name))
}

const pronouns = new Set(
  'He She They You We It I This That These Those Who What Which Someone Somebody Everyone Everybody Anyone People One All Both Each Many Most Some Others Another There Then And But Or So If When Where While As The Not Mine Yours His Her Hers Its Our Ours Their Theirs My Your Men Women Boys Girls Children Father Mother Dad Mom Mum Doctor Teacher God Said Note Warning Error Question Answer User Assistant System Example Input Output Response Prompt Title Quote Patient Customer Client Manager Boss'.split(
    ' ',
  ),
)

/** Names beside a name in a list, which alone could be other words: Morrison, Rogers and Torres. */
function findListed(text: string, found: readonly Span[]): Span[] {
  return found.flatMap(({ start, end }) => {
    nextInList.lastIndex = end
    const next = nextInList.exec(text)
    const previous = previousInList.exec(text.slice(Math.max(0, start - 32), start))
    const spans: Span[] = []
    if (next?.[1] && isListed(next[1]))
      spans.push({ start: nextInList.lastIndex - next[1].length, end: nextInList.lastIndex, label })
    if (previous?.[1] && isListed(previous[1])) {
      const from = start - previous[0].length
      spans.push({ start: from, end: from + previous[1].length, label })
    }
    return spans
  })
}

const nextInList = new RegExp(`(?:,|,? (?:and|or|&)) (${word})(?![${letter}]| [A-Z0-9])`, 'y')
const previousInList = new RegExp(`(?<![${letter}0-9.]|[A-Z][a-z]{1,20} )(${word})(?:,|,? (?:and|or|&)) $`)

function isListed(name: string): boolean {
  const { first, last } = classifyName(name)
  return (first !== null || last !== null) && isNameLike(name) && !otherWords.has(name)
}

function findKnownNames(text: string): Span[] {
  const spans: Span[] = []
  capitalWords.lastIndex = 0
  for (let match = capitalWords.exec(text); match; match = capitalWords.exec(text)) {
    const [whole, first = ''] = match
    const length = measureName(text, match.index, whole, first)
    if (length > 0) spans.push({ start: match.index, end: match.index + length, label })
    // The name may begin with the second word.
    capitalWords.lastIndex = match.index + Math.max(length, first.length)
  }
  return spans
}

/** The length of the name that begins with the first of these words; 0 if none does. */
function measureName(text: string, start: number, whole: string, first: string): number {
  const kind = classifyName(trimPossessive(first))
  emailFollows.lastIndex = start + whole.length
  if (whole.length > first.length && emailFollows.test(text)) return whole.length
  if (!kind.first && !kind.last) return 0
  const length = cutName(whole)
  if (isInPlace(text, start, start + length)) return 0
  if (length > first.length && isFullName(kind, whole.slice(first.length, length))) return length
  const single = trimPossessive(first)
  return length > 0 && isSingleName(text, start, single, kind) ? single.length : 0
}

function isFullName(kind: NameKind, rest: string): boolean {
  const last = classifyName(lastWord(rest)).last
  if (rest === rest.toUpperCase()) return kind.first === 'certain' && last !== null
  if (kind.first === 'certain' || (kind.first && initialFirst.test(rest))) return true
  return last === 'certain' || (kind.first === 'ambiguous' && surnames.has(lastWord(rest)))
}

function isSingleName(text: string, start: number, name: string, { first, last }: NameKind): boolean {
  if (first !== 'certain' && (last !== 'certain' || name.includes('-'))) return false
  if (name === name.toUpperCase()) return false
  wordContinues.lastIndex = start + name.length
  return !wordContinues.test(text)
}

function isInPlace(text: string, start: number, end: number): boolean {
  placeFollows.lastIndex = end
  return placeFollows.test(text) || placeBefore.test(text.slice(Math.max(0, start - 10), start))
}

function trimPossessive(word: string): string {
  return word.replace(/['’]s?$/, '')
}

function lastWord(text: string): string {
  return trimPossessive(text.slice(Math.max(text.lastIndexOf(' '), text.lastIndexOf('\u00a0')) + 1))
}

function isKnown(name: string): boolean {
  return classifyName(trimPossessive(firstWord(name))).first !== null
}

/** Whether a word may be a name that no list has: not an acronym. */
function isNameLike(name: string): boolean {
  const first = trimPossessive(firstWord(name))
  return (
    first.length > 2 &&
    first !== first.toUpperCase() &&
    (!camelCase.test(first) || camelName.test(first)) &&
    !pronouns.has(first)
  )
}

/** Names of software; not McDonald. */
const camelCase = /[a-z][A-Z]|^[A-Z]{2,}[a-z]/
const camelName = /^(?:Mac|Mc|De|Le|La|Di|Du|Van|Fitz)[A-Z][a-z]+$/

function hasKnownName(name: string): boolean {
  return name.split(/[\s ]/).some((part) => {
    const { first, last } = classifyName(trimPossessive(part))
    return first !== null || last !== null
  })
}

function firstWord(name: string): string {
  return name.split(/[\s ]/, 1)[0] ?? ''
}

/** The length of the name up to the first word that no name has; 0 if that makes it a place or a firm. */
function cutName(name: string): number {
  let length = 0
  for (const { index, 0: part } of name.matchAll(/[^\s]+/g)) {
    const bare = trimPossessive(part)
    if (otherWords.has(bare.replace(/\.$/, ''))) return index === 0 || isPlace(bare) ? 0 : length
    length = index + bare.length
  }
  return length
}

const placeWords =
  /^(?:Airport|Station|Street|Road|Avenue|Boulevard|Drive|Square|Park|Place|Bridge|Hotel|Hospital|School|College|University|Institute|Foundation|Bank|Church|Museum|Theat(?:re|er)|Stadium|Arena|Library|Gardens?|County|City|Island|Lake|River|Valley|Beach|Inc|Ltd|Corp|Company|Group|Award|Prize|Theorem|Law|Method|Effect|Syndrome|Disease|Building|Tower|House|Hall|Cent(?:er|re)|Market|Cup|Press|Studio|Labs|Partners|Motors|Records|Ave|Rd|Way|Court|Club|Orchestra|Terrace|Union|Creek|Cliffs|Dam|Prairie|Greens|Islands|Hills|Heights|Gate|Gateway|Springs|Plc|Gmbh|Sons|Associates|Brothers|Industries|Holdings|Enterprises|Solutions|Consulting|Clinic|Castle|Palace|Cathedral|Festival|Royal|Team)$/i

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
