import { domainToASCII } from 'node:url'

/**
 * A host name, with or without a port, in the form in which names are compared and looked up: lower case and ASCII, after
 * the mapping of IDNA (UTS 46). `Ｂ。example` is `b.example`, `bücher.example` is `xn--bcher-kva.example`. Other text is
 * only changed to lower case.
 */
export function toAsciiHost(text: string): string {
  const [, name = '', port = ''] = /^([^%/?#@:\\\s]*)(:\d{1,5})?$/u.exec(text) ?? []
  const ascii = name === '' ? '' : domainToASCII(name)
  return (ascii || name || text).toLowerCase() + (name === '' ? '' : port)
}
