/** Words, without case, that the semantic cache compares exactly. */
const split = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

export const negations = split(`
  not no never none nothing nowhere neither nor cannot without except unless instead hardly barely lack
  lacks lacking non
  nicht kein keine keinen keinem keiner nie niemals nichts ohne
  ne pas jamais rien aucun aucune sans
  nunca jamás sin ningún ninguna ninguno nada tampoco
  non mai senza nessun nessuno nessuna niente
  não nem sem nenhum nenhuma
  niet geen nooit niets zonder
  nie nigdy bez żaden żadna nic
  inte ingen inget aldrig utan ikke aldri uden uten
`)

export const numberWords = split(`
  zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
  eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion
  half quarter third once twice double triple single dozen first second fourth fifth sixth seventh eighth ninth tenth
  last next previous
`)

/** One or both of words that are used in the same place for opposite things. */
export const opposites = split(`
  before after above below over under up down left right off more less fewer most least max min maximum minimum
  maximize minimize highest lowest higher lower high low best worst better worse good bad big small bigger smaller
  biggest smallest large larger largest long short longer shorter longest shortest fast slow faster slower fastest
  slowest early late earlier later earliest latest old new older newer oldest newest young younger youngest cheap
  expensive cheaper cheapest hot cold increase decrease increases decreases increased decreased increasing decreasing
  raise reduce grow shrink add remove adding removing enable disable enabled disabled enabling disabling start stop
  begin end open close opened closed buy sell buying selling send receive sending receiving import export importing
  exporting upload download uploading downloading encrypt decrypt encode decode compress decompress extract install
  uninstall mount unmount lock unlock connect disconnect include exclude including excluding allow deny forbid block
  unblock accept reject approve join leave win lose gain loss profit push pull get set put post patch delete create
  insert update drop select read write input output client server public private local remote internal external
  inside outside front back top bottom upper uppercase lowercase ascending descending horizontal vertical row column
  rows columns sync async synchronous asynchronous positive negative plus minus multiply divide sum difference true
  false yes same different opposite unlike legal illegal safe unsafe dangerous possible impossible always sometimes
  often rarely every each all any some only both either or today tomorrow yesterday morning evening night daily weekly
  monthly yearly annual hourly day week month year hour minute male female man woman men women boy girl he she him
  his her hers mother father son daughter brother sister husband wife north south east west northern southern
  eastern western asset liability debit credit lend borrow employer employee teacher student adult child
`)

/** Words that usually begin a sentence, and are no names there. */
export const sentenceStarters = split(`
  a an the this that these those my your our their its his her it we you they he she i there here
  what what's who whose whom which when where why how is are was were am be been do does did can could will would shall
  should may might must has have had
  please tell give show explain describe write list find help make create define compare summarize summarise translate
  suggest recommend compute calculate convert generate provide discuss outline identify determine solve fix check
  let lets let's need want i'm i'd i've i'll
  if in on at for from with by to of about as and but so or then also just hi hello hey thanks thank ok okay could
  any some
`)
