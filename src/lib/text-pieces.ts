const largePiece = 1024
const mostSmall = 1024

/** A text that comes in pieces, and is joined once. Small ones are joined by the thousand: each takes many times its length. */
export class TextPieces {
  #pieces: string[] = []
  #small: string[] = []

  add(piece: string): void {
    if (piece.length >= largePiece) {
      this.#merge()
      this.#pieces.push(piece)
    } else if (piece !== '' && this.#small.push(piece) >= mostSmall) this.#merge()
  }

  /** All of it; nothing is left. */
  take(): string {
    const pieces = this.#pieces.length === 0 ? this.#small : [...this.#pieces, ...this.#small]
    this.#pieces = []
    this.#small = []
    return pieces.length === 1 ? (pieces[0] ?? '') : pieces.join('')
  }

  #merge(): void {
    if (this.#small.length > 0) this.#pieces.push(this.#small.join(''))
    this.#small = []
  }
}
