import type { Detector, Span } from './detector.ts'
import { findDecodedInjections } from './prompt-injection-encodings.ts'

export const injectionLabel = '[PROMPT_INJECTION]'

interface InjectionPattern {
  name: string
  pattern: RegExp
}

const earlier =
  '(?:all|any|every|the|your|my|our|these|those|previous|prior|preceding|earlier|above|former|existing|original|initial|foregoing)'
const orders =
  '(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|orders?|constraints?|context|messages?|programming|training)'
const secret = '(?:system|initial|hidden|secret|original|internal|developer|full|entire|complete|base)'
const mode =
  '(?:developer|dev|debug|god|admin|administrator|root|sudo|maintenance|unrestricted|unfiltered|uncensored|jailbreak|dan|evil|opposite)'
const safety = '(?:safety|security|content|ethical|moral|moderation|policy|usage)'
const safeguards =
  '(?:filters?|guidelines?|restrictions?|measures?|protocols?|checks?|rules?|polic(?:y|ies)|controls?|guardrails?|limits?|limitations?|mechanisms?|features?|settings?|warnings?)'
const free =
  '(?:restrictions?|limitations?|limits?|filters?|rules?|constraints?|boundaries|guidelines?|censorship)'

function rule(name: string, source: string): InjectionPattern {
  return { name, pattern: new RegExp(source, 'giu') }
}

/** One for each way in which a text tries to take over a model; each is bounded, so a scan is linear. */
const patterns: readonly InjectionPattern[] = [
  // Direct override
  rule(
    'ignore_previous_instructions',
    `\\bignor(?:e|ing)\\b(?:[\\s,:;]+${earlier}){1,4}(?:[\\s,:;]+\\w+){0,2}?[\\s,:;]+${orders}\\b`,
  ),
  rule('disregard_instructions', `\\bdisregard(?:ing)?\\b(?:[\\s,:;]+\\w+){0,4}?[\\s,:;]+${orders}\\b`),
  rule(
    'forget_instructions',
    `\\bforget\\b(?:[\\s,:;]+\\w+){0,4}?[\\s,:;]+(?:${orders}|everything (?:above|before|you (?:were told|know)))\\b`,
  ),
  rule(
    'new_instructions',
    `\\b(?:here are|these are|follow(?:ing)?|your|are)[\\s]+(?:your[\\s]+)?(?:new|updated|revised|real|actual)[\\s]+${orders}\\b|\\bnew (?:system )?instructions?[\\s]*:`,
  ),
  rule(
    'do_not_follow',
    `\\b(?:do not|don'?t|never|stop)[\\s]+(?:follow(?:ing)?|obey(?:ing)?|comply(?:ing)? with|listen(?:ing)? to)(?:[\\s]+\\w+){0,4}?[\\s]+${orders}\\b`,
  ),
  rule(
    'supersede_instructions',
    `\\b(?:supersed(?:e|es|ing)|overrul(?:e|es|ing)|replac(?:e|es|ing)|take precedence over)(?:[\\s]+${earlier}){1,3}(?:[\\s]+\\w+){0,2}?[\\s]+(?:instructions?|prompts?|directives?|guidelines?)\\b`,
  ),
  rule(
    'void_instructions',
    `\\b${orders}(?:[\\s]+\\w+){0,4}?[\\s]+(?:are|is)[\\s]+(?:now[\\s]+|hereby[\\s]+)?(?:void|null|invalid|cancelled|canceled|obsolete|revoked|no longer (?:valid|apply|applicable|in effect))\\b`,
  ),
  // Developer or admin mode
  rule(
    'developer_mode',
    `\\b${mode}[\\s-]+mode[\\s]+(?:is[\\s]+)?(?:now[\\s]+)?(?:on|enabled|activated|active|engaged|unlocked)\\b`,
  ),
  rule(
    'enter_special_mode',
    `\\b(?:enter(?:ing)?|switch(?:ing)? (?:in)?to|go into|boot into|start in)(?:[\\s]+(?:the|your|a))?[\\s]+${mode}[\\s-]+mode\\b`,
  ),
  rule(
    'activate_special_mode',
    `\\b(?:activat(?:e|ing)|enabl(?:e|ing)|turn on|unlock|engage)(?:[\\s]+(?:the|your|a))?[\\s]+${mode}[\\s-]+mode\\b`,
  ),
  // System override
  rule(
    'system_override',
    `\\b(?:system|admin(?:istrator)?|root|security)[\\s_-]+override\\b(?![\\s]+(?:method|flag|option|file|config))|\\boverride[\\s]+(?:the[\\s]+)?(?:system|safety|security|core)\\b(?:[\\s]+(?:prompt|settings?|protocols?|restrictions?))`,
  ),
  rule(
    'override_instructions',
    `\\boverrid(?:e|es|ing)(?:[\\s]+${earlier}){1,3}(?:[\\s]+\\w+){0,2}?[\\s]+${orders}\\b`,
  ),
  // Prompt extraction
  rule(
    'reveal_prompt',
    `\\b(?:reveal|disclose|expose|leak|divulge)(?:[\\s]+(?:me|us|to me|the|your|all|of))*(?:[\\s]+${secret}){0,2}[\\s]+(?:prompts?|instructions?|system message)\\b`,
  ),
  rule(
    'show_prompt',
    `\\b(?:show|give|tell|send)[\\s]+(?:me[\\s]+|us[\\s]+)?(?:your|the)(?:[\\s]+${secret}){1,2}[\\s]+(?:prompts?|instructions?|message|rules)\\b`,
  ),
  rule(
    'what_instructions',
    `\\bwhat[\\s]+(?:are|were|is|was)[\\s]+(?:your|the)(?:[\\s]+${secret}){1,2}[\\s]+(?:prompts?|instructions?|rules|message)\\b|\\bwhat (?:instructions|prompt) (?:were|was|have|did) you (?:given|told|been given|receive)`,
  ),
  rule(
    'repeat_instructions',
    `\\b(?:repeat|recite|echo|restate)(?:[\\s]+\\w+){0,3}?[\\s]+(?:${secret}[\\s]+(?:prompts?|instructions?|message)|(?:instructions?|prompt|everything|text|words)[\\s]+(?:above|before this|verbatim|you were given))\\b`,
  ),
  rule(
    'output_prompt',
    `\\b(?:output|print|display|dump|write out)(?:[\\s]+(?:all|of|the|your|out))*(?:[\\s]+${secret}){1,2}[\\s]+(?:prompts?|instructions?|message)\\b`,
  ),
  // Role manipulation
  rule(
    'remove_restrictions',
    `\\b(?:remove|drop|lift|shed|get rid of)[\\s]+(?:all[\\s]+)?(?:of[\\s]+)?(?:your|its|the model'?s)(?:[\\s]+\\w+){0,2}?[\\s]+${free}\\b|\\byou (?:now )?have no(?:[\\s]+\\w+){0,2}?[\\s]+${free}\\b`,
  ),
  rule(
    'act_unbound',
    `\\b(?:act|behave|respond|answer|operate|speak)(?:[\\s]+\\w+){0,4}?[\\s]+(?:without|free (?:of|from)|with no)(?:[\\s]+(?:any|all))?(?:[\\s]+\\w+){0,2}?[\\s]+${free}\\b`,
  ),
  rule(
    'pretend_different',
    `\\bpretend(?:[\\s]+(?:that|to be|you(?:'?re| are)?|as if))+(?:[\\s]+\\w+){0,4}?[\\s]+(?:unrestricted|unfiltered|uncensored|without(?:[\\s]+\\w+){0,2}?[\\s]+${free}|(?:a )?different ai|an evil)\\b`,
  ),
  rule(
    'identity_hijack',
    `\\b(?:from now on,?|henceforth,?)[\\s]+(?:you are|you(?:'re| will be| shall be)|act as)\\b|\\byou are no longer (?:an? )?(?:ai|assistant|chatbot|language model|claude|chatgpt|gpt|gemini|bound)\\b`,
  ),
  // DAN-style
  rule(
    'dan_jailbreak',
    `\\bdo anything now\\b|\\b(?:you are|act as|become|called|be)[\\s]+"?DAN\\b|\\bSTAY IN CHARACTER AS DAN\\b`,
  ),
  rule(
    'jailbreak_mode',
    `\\bjailbr(?:eak|oken)(?:[\\s-]+(?:mode|prompt|enabled|yourself|activated|unlocked))\\b`,
  ),
  // Safety bypass
  rule(
    'bypass_safety',
    `\\b(?:bypass|circumvent|evade|get around)(?:ing)?(?:[\\s]+\\w+){0,3}?[\\s]+${safety}[\\s]+${safeguards}\\b`,
  ),
  rule(
    'disable_safety',
    `\\b(?:disabl(?:e|ing)|turn(?:ing)? off|deactivat(?:e|ing)|switch(?:ing)? off)(?:[\\s]+\\w+){0,3}?[\\s]+${safety}[\\s]+${safeguards}\\b`,
  ),
  rule('ignore_safety', `\\bignor(?:e|ing)(?:[\\s]+\\w+){0,3}?[\\s]+${safety}[\\s]+${safeguards}\\b`),
  // Tag and role spoofing
  rule(
    'system_tag_injection',
    `<[/\\s]{0,3}(?:system|sys|instructions?|system_prompt|system-prompt)\\s{0,3}>`,
  ),
  rule(
    'role_tag_injection',
    `<[/\\s]{0,3}(?:assistant|developer|human|user)\\s{0,3}>[^<]{0,20}(?:ignore|system|instruction|you are|new)`,
  ),
  rule(
    'role_delimiter_injection',
    `(?:^|\\n)\\s{0,4}#{2,4}\\s{0,3}(?:system|assistant|instruction|response)\\s{0,3}:?\\s{0,3}(?:\\n|$)`,
  ),
  rule(
    'bracketed_role_spoofing',
    `\\[\\s{0,3}(?:system|system (?:message|prompt|note|override)|admin|developer|root)\\s{0,3}\\]`,
  ),
  rule(
    'system_prefix_spoofing',
    `(?:^|\\n)\\s{0,4}(?:system|system (?:message|prompt|notice|instruction))\\s{0,3}:\\s{0,3}(?:you|ignore|disregard|override|new|from now|the (?:user|assistant)|all|forget)`,
  ),
  // Control tokens
  rule(
    'control_token_injection',
    `<\\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|endofprompt|start_header_id|end_header_id|eot_id|begin_of_text)\\|>|\\[/?INST\\]|<</?SYS>>|<(?:start|end)_of_turn>`,
  ),
  rule(
    'deepseek_control_token_injection',
    `<[|｜](?:begin|end)[▁_]of[▁_](?:sentence|thinking)[|｜]>|<[|｜](?:User|Assistant|tool[▁_]calls[▁_]begin)[|｜]>`,
  ),
]

/** Instructions that try to take over the model, also scrambled, spaced out or encoded. */
export const findInjections: Detector = (text) => {
  const spans: Span[] = []
  for (const { name, pattern } of patterns) {
    for (const { index, 0: match } of text.matchAll(pattern))
      spans.push({ start: index, end: index + match.length, label: injectionLabel, kind: name })
  }
  return [...spans, ...findDecodedInjections(text, isInjection)]
}

/** Whether one of the plain patterns matches. */
function isInjection(text: string): boolean {
  return patterns.some(({ pattern }) => text.search(pattern) !== -1)
}
