/** One way in which a text tries to take over a model. */
export interface InjectionPattern {
  name: string
  /** Sticky: it is tried only where one of the stems begins. */
  pattern: RegExp
  /** Beginnings of its matches, in lower case; a stem of letters begins a word. */
  stems: readonly string[]
}

const earlier =
  '(?:all|any|every|each|the|of|your|my|our|its|these|those|previous|previously|prior|preceding|earlier|above|former|existing|original|initial|foregoing|past|current)'
const orders =
  '(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|orders?|constraints?|context|messages?|programming|training)'
const secret =
  '(?:system|initial|hidden|secret|original|internal|developer|full|entire|complete|base|exact|underlying|above|previous|first|confidential)'
const mode =
  '(?:developer|dev|debug|god|admin|administrator|root|sudo|maintenance|unrestricted|unfiltered|uncensored|jailbreak|dan|evil|opposite)'
const safety = '(?:safety|security|content|ethic(?:s|al)|moral|moderation|policy|usage|built-in)'
const safeguards =
  '(?:filters?|guidelines?|restrictions?|measures?|protocols?|checks?|rules?|polic(?:y|ies)|controls?|guardrails?|limits?|limitations?|mechanisms?|features?|settings?|warnings?|training)'
const free =
  '(?:restrictions?|limitations?|limits?|filters?|rules?|constraints?|boundaries|guidelines?|censorship|guardrails?|safeguards?)'
const gap = '[\\s,:;]{1,200}'
/** Pattern of up to this many other words. */
const words = (count: number) => `(?:${gap}[\\w'-]{1,40}){0,${count}}?${gap}`

const orderStems =
  'instruction prompt rule direct guideline command order constraint context message programming training'
const modeStems =
  'developer dev debug god admin root sudo maintenance unrestricted unfiltered uncensored jailbreak dan evil opposite'

function rule(name: string, stems: string, source: string): InjectionPattern {
  return { name, stems: stems.split(' '), pattern: new RegExp(source, 'imy') }
}

/** Each part is bounded, so that a scan is linear. */
export const injectionPatterns: readonly InjectionPattern[] = [
  // Direct override
  rule(
    'ignore_previous_instructions',
    'ignor',
    [
      `ignor(?:e|ing)\\b(?:${gap}${earlier}){1,6}${words(2)}${orders}\\b`,
      `ignor(?:e|ing)\\b${gap}(?:all|any|every)[\\w ]{0,20}(?:above|before|you(?:'ve| have)? (?:were|was|been) (?:t[o]ld|given))\\b`,
      `ignor(?:e|ing)\\b${gap}(?:everything|anything|all)${gap}(?:above|before|previous)\\b`,
      // German, French, Spanish, Italian, Portuguese and Dutch
      `ignorier(?:e|en|t)\\b${words(4)}(?:anweisungen|vorgaben|regeln|instruktionen)\\b`,
      `ignore[zr]?\\b${words(3)}(?:instructions|consignes|directives)${gap}(?:pr[ée]c[ée]dentes|ant[ée]rieures|ci-dessus)`,
      `ignor[ae]r?\\b${words(3)}(?:instrucciones|instruç[õo]es|istruzioni)\\b`,
      `ignoreer\\b${words(3)}(?:instructies|aanwijzingen)\\b`,
    ].join('|'),
  ),
  rule(
    'disregard_instructions',
    'disregard',
    `disregard(?:ing)?\\b(?:${words(5)}${orders}\\b|${gap}(?:everything|anything|all)${gap}(?:above|before)\\b)`,
  ),
  rule(
    'forget_instructions',
    'forget',
    `forget(?:ting)?\\b(?:${words(5)}${orders}\\b|${gap}(?:everything|anything|all)(?:${gap}that)?${gap}(?:above|before|prior|(?:i|we|they)${gap}t[o]ld you|you(?:'ve| have)?${gap}(?:(?:were|been)${gap}(?:t[o]ld|given|taught|trained)|know|learned)))`,
  ),
  rule(
    'new_instructions',
    'here these follow your are new',
    `(?:here are|these are|follow(?:ing)?|your|are)\\s{1,9}(?:(?:your|my|the|these)\\s{1,9})?(?:new|updated|revised|real|actual|true)\\s{1,9}(?:system\\s{1,9})?(?:instructions?|prompts?|directives?|orders|rules)\\b(?!\\s{1,9}(?:of|for)\\b)|new (?:system )?instructions?\\s{0,9}:`,
  ),
  rule(
    'do_not_follow',
    'do don never stop',
    `(?:do not|don['’]?t|never|stop)\\s{1,9}(?:follow(?:ing)?|obey(?:ing)?|comply(?:ing)? with|listen(?:ing)? to)${gap}(?:any|all|the|your|those|these|previous|prior|earlier|original|initial|system|what)\\b(?:(?:${gap}[\\w'-]{1,40}){0,3}?${gap})?(?:instructions?|prompts?|rules|directives?|guidelines?|programming|training|constraints?)\\b`,
  ),
  rule(
    'supersede_instructions',
    'supersed overrul replac take',
    `(?:supersed(?:e|es|ing)|overrul(?:e|es|ing)|replac(?:e|es|ing)|takes? (?:precedence|priority) over)(?:${gap}${earlier}){1,4}${words(2)}(?:instructions?|prompts?|directives?|guidelines?)\\b`,
  ),
  rule(
    'void_instructions',
    orderStems,
    `${orders}(?:${gap}[\\w'-]{1,40}){0,4}?${gap}(?:are|is)${gap}(?:now${gap}|hereby${gap})?(?:null and )?(?:void|null|invalid(?:ated)?|cancell?ed|obsolete|revoked|rescinded|no longer (?:valid|appl(?:y|icable)|in effect|binding))\\b|${orders}${gap}(?:no longer|do not|don['’]?t) apply(?: to you)?\\b(?=[^\\w]{0,3}(?:$|now|any ?more|anymore))`,
  ),
  // Developer or admin mode
  rule(
    'developer_mode',
    modeStems,
    `${mode}[\\s-]{1,9}mode\\s{0,9}:?\\s{0,9}(?:is\\s{1,9}|has been\\s{1,9})?(?:now\\s{1,9})?(?:on|enabled|activated|active|engaged|unlocked)\\b`,
  ),
  rule(
    'enter_special_mode',
    'enter switch go boot start',
    `(?:enter(?:ing)?|switch(?:ing)? (?:in)?to|go into|boot into|start in)(?:\\s{1,9}(?:the|your|a|an))?\\s{1,9}${mode}[\\s-]{1,9}mode\\b`,
  ),
  rule(
    'activate_special_mode',
    'activat enabl turn unlock engage',
    `(?:activat(?:e|ing)|enabl(?:e|ing)|turn on|unlock|engage)(?:\\s{1,9}(?:the|your|a|an))?\\s{1,9}${mode}[\\s-]{1,9}mode\\b`,
  ),
  // System override
  rule(
    'system_override',
    'system admin root security overrid',
    `(?:system|admin(?:istrator)?|root|security)[\\s_-]{1,3}override\\b(?!\\s{1,9}(?:methods?|flags?|options?|files?|config\\w*|settings?|files?|key|switch|valves?)\\b)|overrid(?:e|ing)\\s{1,9}(?:the\\s{1,9}|your\\s{1,9}|all\\s{1,9})?(?:system|safety|security|core)\\s{1,9}(?:prompts?|settings?|protocols?|restrictions?|rules)\\b`,
  ),
  rule(
    'override_instructions',
    'overrid',
    `overrid(?:e|es|ing)(?:${gap}${earlier}){1,4}${words(2)}(?:instructions?|prompts?|rules|directives?|guidelines?|programming|training|constraints)\\b`,
  ),
  // Prompt extraction
  rule(
    'reveal_prompt',
    'reveal disclos expos leak divulg',
    `(?:reveal|disclose|expose|leak|divulge)(?:ing)?(?:\\s{1,9}(?:me|us|to me|the|your|all|of)){0,4}(?:\\s{1,9}${secret}){0,3}\\s{1,9}(?:prompts?|instructions?|system message)\\b`,
  ),
  rule(
    'show_prompt',
    'show give tell send',
    `(?:show|give|tell|send)\\s{1,9}(?:me\\s{1,9}|us\\s{1,9})?(?:what\\s{1,9})?(?:your|the)(?:\\s{1,9}${secret}){1,3}\\s{1,9}(?:prompts?|instructions?|message|rules)\\b`,
  ),
  rule(
    'what_instructions',
    'what',
    `what(?:\\s{1,9}(?:are|were|is|was)|['’]s)\\s{1,9}(?:your|the)(?:\\s{1,9}${secret}){1,3}\\s{1,9}(?:prompts?|instructions?|rules|message)\\b|what (?:instructions|rules|prompt) (?:were|was|have|did) you (?:given|t[o]ld|been given|receive)`,
  ),
  rule(
    'repeat_instructions',
    'repeat recit echo restat',
    `(?:repeat|recite|echo|restate)${words(4)}(?:${secret}\\s{1,9}(?:prompts?|instructions?|message)|(?:instructions?|prompt|everything|text|words)\\s{1,9}(?:above|before this|verbatim|you were given))\\b`,
  ),
  rule(
    'output_prompt',
    'output print display dump write',
    `(?:output|print|display|dump|write out)(?:\\s{1,9}(?:all|of|the|your|out)){0,4}(?:\\s{1,9}${secret}){1,3}\\s{1,9}(?:prompts?|instructions?|message)\\b`,
  ),
  // Role manipulation
  rule(
    'remove_restrictions',
    'remov drop lift shed get you',
    `(?:remov(?:e|ing)|drop|lift|shed|get rid of)\\s{1,9}(?:all\\s{1,9})?(?:of\\s{1,9})?(?:your|its|the model['’]?s)${words(2)}${free}\\b|you (?:now )?have no(?:\\s{1,9}(?:more|ethical|moral|content|safety|such|any)){0,2}\\s{1,9}(?:restrictions|limitations|limits|filters|rules|constraints|guidelines|censorship|guardrails)\\b`,
  ),
  rule(
    'act_unbound',
    'act behav respond answer operat speak',
    `(?:act|behave|respond|answer|operate|speak)${words(5)}(?:without|free (?:of|from)|with no)(?:\\s{1,9}(?:any|all))?(?:\\s{1,9}(?:of your|your|the|ethical|moral|content|safety|usual|such)){0,3}\\s{1,9}${free}\\b`,
  ),
  rule(
    'pretend_different',
    'pretend',
    `pretend(?:ing)?(?:\\s{1,9}(?:that|to be|you(?:['’]?re| are| have)?|as if|like)){1,3}${words(5)}(?:unrestricted|unfiltered|uncensored|unaligned|(?:without|no)(?:\\s{1,9}[\\w'-]{1,40}){0,2}?\\s{1,9}${free}|different (?:ai|model|assistant)|evil (?:ai|assistant|twin))\\b`,
  ),
  rule(
    'identity_hijack',
    'from henceforth you',
    `(?:from (?:now|this point) on(?:wards?)?|henceforth),?\\s{1,9}(?:you(?:['’]re| are| will be| shall be| will act| must act)|act as|(?:you )?(?:will |must |shall )?(?:respond|answer|behave) (?:only )?as)\\b|you(?:['’]re| are) no longer (?:an? )?(?:ai|assistant|chatbot|(?:large )?language model|claude|chatgpt|gpt|gemini|bound)\\b`,
  ),
  // DAN-style
  rule(
    'dan_jailbreak',
    'do you act becom call be stay as',
    `do anything now\\b|(?:you(?:['’]re| are)(?: now)?|act as|become|called|be|as)\\s{1,9}(?:an? )?"?(?-i:DAN|D\\.A\\.N)\\b|stay in character as\\b`,
  ),
  rule(
    'jailbreak_mode',
    'jailbr',
    `jailbr(?:eak|oken)(?:[\\s-]{1,9}(?:mode|prompt|enabled|yourself|activated|unlocked|version))\\b`,
  ),
  // Safety bypass
  rule(
    'bypass_safety',
    'bypass circumvent evad get',
    `(?:bypass|circumvent|evad(?:e|ing)|get(?:ting)? around)(?:ing)?${words(3)}(?:${safety}\\s{1,9}${safeguards}|(?:guardrails|safeguards|your (?:restrictions|filters|guidelines|rules)))\\b`,
  ),
  rule(
    'disable_safety',
    'disabl turn deactivat switch',
    `(?:disabl(?:e|ing)|turn(?:ing)? off|deactivat(?:e|ing)|switch(?:ing)? off)${words(3)}(?:${safety}\\s{1,9}${safeguards}|(?:guardrails|safeguards|your (?:restrictions|filters|guidelines|rules)))\\b`,
  ),
  rule('ignore_safety', 'ignor', `ignor(?:e|ing)${words(3)}${safety}\\s{1,9}${safeguards}\\b`),
  // Tag and role spoofing
  rule(
    'system_tag_injection',
    '<',
    `<[/\\s]{0,3}(?:system|sys|system[_-](?:prompt|message|instructions?))\\s{0,3}>|<[/\\s]{0,3}instructions?\\s{0,3}>(?=\\s{0,9}(?:you|ignore|disregard|forget|new|override))`,
  ),
  rule(
    'role_tag_injection',
    '<',
    `<[/\\s]{0,3}(?:assistant|developer|human|user|admin)\\s{0,3}>[^<]{0,20}\\b(?:ignore|disregard|system|instruction|you are|you must|new|override|reveal)`,
  ),
  rule(
    'role_delimiter_injection',
    '##',
    `(?<=^[ \\t]{0,4})#{2,4}[ \\t]{0,3}(?:system|assistant|instruction|response)[ \\t]{0,3}:?[ \\t\\r]{0,3}$`,
  ),
  rule(
    'bracketed_role_spoofing',
    '[',
    `\\[\\s{0,3}(?:system|system (?:message|prompt|note|notice|override|update)|admin|administrator|developer|root)\\s{0,3}\\](?![(\\]])(?=[\\s:]{0,9}[:\\w"'])`,
  ),
  rule(
    'system_prefix_spoofing',
    'system',
    `(?<=^[ \\t>*"']{0,6})system(?: (?:message|prompt|notice|instruction|update))?[*\\s]{0,3}:[*\\s]{0,4}(?:you\\b|ignore|disregard|override|new (?:instr|rule|direct)|from now|the (?:user|assistant)|all (?:prev|prior|safety|restr|rules|filters)|forget|disable|enable|reveal|act\\b)`,
  ),
  // Control tokens
  rule(
    'control_token_injection',
    '< [',
    `<\\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|endofprompt|start_header_id|end_header_id|eot_id|begin_of_text|end_of_text|eom_id|python_tag|channel|message|start|end|return|call)\\|>|\\[/?INST\\]|<</?SYS>>|<(?:start|end)_of_turn>`,
  ),
  rule(
    'deepseek_control_token_injection',
    '<',
    `<[|｜](?:begin|end)[▁_]of[▁_](?:sentence|thinking)[|｜]>|<[|｜](?:User|Assistant|tool[▁_](?:calls?|outputs?)[▁_](?:begin|end))[|｜]>`,
  ),
]
