export interface Component {
  name: string
  version: string
  /** An SPDX expression. */
  license: string
  /** As the lockfile has it: `sha512-` and the digest as base64. */
  integrity: string
  folder: string
  dependencies: Component[]
}

export function readComponents(folder?: string): { components: Component[]; direct: Component[] }
