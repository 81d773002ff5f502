{
  description = "Gate between programs and language models";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "leafgate";
          version = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "leafgate" "--bin" "leafgate" ];
          # They start gates and clients: `cargo xtask test`.
          doCheck = false;
          env.BUILD_COMMIT = self.rev or self.dirtyRev or "";
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            $out/bin/leafgate man > leafgate.1
            installManPage leafgate.1
            installShellCompletion --cmd leafgate --bash <($out/bin/leafgate completions bash) \
              --zsh <($out/bin/leafgate completions zsh) --fish <($out/bin/leafgate completions fish)
          '';
          meta = {
            description = "Gate between programs and language models";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "leafgate";
          };
        };
      });
    };
}
