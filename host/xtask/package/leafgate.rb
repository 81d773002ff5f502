class Leafgate < Formula
  desc "Gate between programs and language models"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  on_intel do
    url "@URL@/leafgate-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256_amd64@"
  end
  on_arm do
    url "@URL@/leafgate-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256_arm64@"
  end

  def install
    bin.install "leafgate"
    man1.install Dir["man/*"]
    bash_completion.install "completions/leafgate.bash"
    zsh_completion.install "completions/_leafgate"
    fish_completion.install "completions/leafgate.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/leafgate --version")
  end
end
